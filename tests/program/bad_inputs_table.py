"""Bad inputs, one row each: what is wrong, who runs what, and the words that the message must have.

The words name the place (a file with its line, or an option), what is wrong with it, and what to do.
"""

import collections
import gzip
import shutil

from bad_inputs_bench import (MARK, ROWS, aligned, cell, chmod, copy, cut, flip, job, kept, last_checkpoint, of_version,
                              option, put, remove, table)

FAILED, USAGE = 1, 2

# run: {party: command}; says: {party: words that its message must have}; all other parties that run must fail, too.
# patience: for how many seconds A and B wait for each other. stranger: who else is there, see bad_inputs.py.
Case = collections.namedtuple("Case", "name changes run says code patience stranger", defaults=(FAILED, (2, 2), None))


def a(name, changes, *says, run="train", **more):
    return Case(name, changes, {"a": run}, {"a": says}, **more)


def b(name, changes, *says, run="train", **more):
    return Case(name, changes, {"b": run}, {"b": says}, **more)


def two(name, changes, says_a, says_b, run="train", **more):
    runs = run if isinstance(run, dict) else {"a": run, "b": run}
    return Case(name, changes, runs, {"a": says_a, "b": says_b}, **{"patience": MEETING, **more})


MEETING = (30, 30)  # the parties meet, and whoever fails tells the other at once
APART = (4, 12)  # the parties never meet, and B is there when A calls


OLD_CERTIFICATE = """-----BEGIN CERTIFICATE-----
MIIBBDCBqgIBATAKBggqhkjOPQQDAjAOMQwwCgYDVQQDDANvbGQwHhcNMjAwMTAx
MDAwMDAwWhcNMjAwMjAxMDAwMDAwWjAOMQwwCgYDVQQDDANvbGQwWTATBgcqhkjO
PQIBBggqhkjOPQMBBwNCAAQj18yMhp8YvYIi2HfhiXUFAUFMZg59Cu4dcU1T0piC
+agY7X8P3+Rj+orZCRUntPVH6O05zV4avNOjVyRfKcz5MAoGCCqGSM49BAMCA0kA
MEYCIQCi+SGBxMh4QnDxlcOJ+vZsOAFN8+53g9mYVgLiF/8DNAIhAJfSnJp9n8up
+/dKB/G5wwMvsbpDXWAd38kb+oD9Lf/G
-----END CERTIFICATE-----
"""

PREDICT = "predict --scores b/scores.csv"


def plaintext(folder, party):
    path = folder / party / "job.yaml"
    keep = [line for line in path.read_text().splitlines() if line.split(":")[0].strip() not in
            ("certificate", "key", "peer")]
    path.write_text("\n".join(keep).replace("  link:", "  link:\n    plaintext: true") + "\n")


def svm(party, text):
    """LIBSVM files instead of CSV ones, in a job that takes rows as they are."""
    def change(folder):
        aligned(folder)
        job("ab", "    id_column: id\n", "")(folder)
        job("b", "    label_column: y\n", "")(folder)
        for one in "ab":
            good = "".join(f"{i % 2 if one == 'b' else 0} 1:0.{MARK} 2:0.5\n" for i in range(ROWS))
            (folder / one / "train.svm").write_text(text if one == party else good)
            job(one, "train: train.csv", "train: train.svm")(folder)
            job(one, "    test: test.csv\n    score: test.csv\n", "")(folder)
    return [change]


USE = [
    a("no such command", [], "there is no command 'trian'", "did you mean", "--help", run=["trian"], code=USAGE),
    a("no such option", [], "--jbo", "--help", run=["train", "--jbo", "x"], code=USAGE),
    a("an option without its value", [], "--folder needs a value", "--help", run=["inspect", "--folder"], code=USAGE),
    a("an option that is missing", [], "--folder is missing", "--help", run=["inspect"], code=USAGE),
    a("an option twice", [], "--folder is given twice", run=["inspect", "--folder", "a", "--folder", "b"], code=USAGE),
    b("B predicts without a file for it", [kept()], "--scores is missing", run="predict", code=USAGE),
    a("ping both ways", [], "--listen", "--dial", run="ping --listen 127.0.0.1:1 --dial 127.0.0.1:1", code=USAGE),
    a("ping without certificates", [], "--certificate", "blindfl keygen", run="ping --dial 127.0.0.1:1", code=USAGE),
    a("a bad number", [], "--days needs a whole number", run="keygen --name n --out n --days x", code=USAGE),
    a("a name that is a path", [], "--name must not contain '/'", run="keygen --name x/y --out n", code=USAGE),
    a("keys that are there already", [], "a/a.key", "never overwritten", "choose another",
      run="keygen --name a --out a"),
    a("no such parameter", [], "'shared.trainin'", "did you mean shared.training",
      run="parameters --only shared.trainin"),
    a("init without data", [], "nowhere.csv", "no such file", "check the path",
      run="init --party A --data nowhere.csv --out a/new.yaml"),
    b("init that would guess the label", [put("b/bank.csv", f"customer,age,income,default\n{MARK},30,5,0\n8,40,5,1\n9,30,6,1\n")],
      "--label is missing", "income, default", run="init --party B --data b/bank.csv --id customer --out b/new.yaml",
      code=USAGE),
    b("init that would take rows as they are", [], "--align is missing", "aligned if row i",
      run="init --party B --data b/train.csv --id none --label y --out b/new.yaml", code=USAGE),
    a("init with a label at A", [put("a/new.csv", f"id,x,label\n1,0.{MARK},0\n2,0.5,1\n3,0.7,1\n")],
      "--kind is missing for column 'label'", "--kind label=ignore",
      run="init --party A --data a/new.csv --id id --dial 127.0.0.1:1 --out a/new.yaml", code=USAGE),
    a("inspect nothing", [], "a/nothing", "no such folder", "name that of a run", run="inspect --folder a/nothing"),
    a("inspect a folder without a run", [], "c: is the folder neither", "name private.run.folder",
      run="inspect --folder c"),
    a("audit no ledger", [], "a/train.csv: line 1", "does not begin as a ledger", run="audit --ledger a/train.csv"),
    a("audit a changed ledger", [kept(), flip("a/run/transcript.ledger", 3000)], "a/run/transcript.ledger", "line ",
      run="audit --ledger a/run/transcript.ledger"),
    a("audit ledgers of two runs", [kept("run", "a"), kept("other", "b")], "different runs",
      run="audit --ledger a/run/transcript.ledger --peer-ledger b/run/transcript.ledger"),
    a("fingerprint of a key", [], "a/a.key", "private key", run="fingerprint --certificate a/a.key"),
    a("align where rows are taken as they are", [aligned], "shared.alignment.mode", "set it to",
      run="align --out a/list.csv"),
    a("a folder that cannot be made", [job("a", "  resources:", "  run: {folder: no/where}\n  resources:")],
      "private.run.folder", "make it first"),
]

SHARED, ALIKE = "the section shared of the job", "Both must configure it alike"
JOBS = [
    a("no job file", [remove("a/job.yaml")], "a/job.yaml", "cannot be opened", "blindfl init"),
    a("an empty job file", [put("a/job.yaml", "")], "a/job.yaml", "is empty", "blindfl parameters"),
    a("no YAML", [put("a/job.yaml", "shared: [\n")], "a/job.yaml:2:1", "without its"),
    a("a misspelt key", [job("a", "epochs:", "epoch:")], "a/job.yaml:3:14", "'epoch' in shared.training",
      "did you mean epochs"),
    a("a misspelt section", [job("a", "  link:", "  lnik:")], "a/job.yaml:14:3", "'lnik' in private",
      "did you mean link"),
    a("a key twice", [job("a", "epochs: 1,", "epochs: 1, epochs: 2,")], "a/job.yaml:3:25",
      "'epochs' is already in line 3", "remove one"),
    a("a word for a number", [job("a", "epochs: 1", "epochs: many")], "a/job.yaml:3:", "shared.training.epochs",
      "whole number from 1 to"),
    a("a number out of range", [job("a", "epochs: 1", "epochs: 0")], "a/job.yaml:3:", "shared.training.epochs",
      "whole number from 1 to"),
    a("a fraction for a whole number", [job("a", "batch: 8", "batch: 8.5")], "a/job.yaml:3:", "shared.training.batch",
      "must be a whole number"),
    a("a list for a number", [job("a", "batch: 8", "batch: [8]")], "a/job.yaml:3:", "shared.training.batch",
      "must be a whole number"),
    a("no such model", [job("a", "kind: lr", "kind: svm")], "a/job.yaml:2:17", "shared.model.kind", "lr, mlr"),
    a("no model", [job("a", "  model: {kind: lr, top: open}\n", "")], "a/job.yaml:1:1", "shared.model.kind is missing",
      "one of lr, mlr"),
    a("no party", [job("a", "  party: a\n", "")], "a/job.yaml:6:1", "private.party is missing", "one of a, b"),
    a("no link", [job("a", "dial:", "#")], "private.link", "either listen or dial"),
    a("an address without a port", [job("a", "dial: \"127.0.0.1:", "dial: \"localhost\" #")], "private.link.dial",
      "must be HOST:PORT"),
    a("an anchor", [job("a", "model: {", "model: &m {")], "a/job.yaml:2:10", "write it out"),
    a("a contradiction: labels at A", [option("a", "label_column: z")], "private.data.label_column", "kind: ignore"),
    b("no label column", [job("b", "    label_column: y\n", "    format: csv\n")], "private.data.label_column",
      "is missing"),
    a("no ids", [job("a", "    id_column: id\n", "")], "private.data.id_column", "shared.alignment.mode"),
    a("classes of lr", [job("a", "kind: lr", "kind: lr, classes: 3")], "shared.model.classes", "take mlr"),
    a("a scheme that is not allowed", [job("a", "allowed: [lattice]", "allowed: [lattice], default: paillier")],
      "shared.scheme.default", "shared.scheme.allowed"),
    a("early stopping on nothing", [job("a", "batch: 8", "early_stopping: {patience: 2}")],
      "shared.training.early_stopping.patience", "shared.training.validation_share"),
    a("TLS and plaintext", [job("a", "  link:", "  link:\n    plaintext: true")], "private.link.plaintext",
      "leave out"),
    a("a key instead of its path", [job("a", "key: a.key", 'key: "-----BEGIN PRIVATE KEY-----"')], "private.link.key",
      "must be the path"),
    a("a bad --set", [], "--set", "shared.training.epochs must be", run="train --set shared.training.epochs=x"),
    a("a --set without a value", [], "--set", "KEY=VALUE", run="train --set epochs"),
    a("nothing to train on", [job("a", "    train: train.csv\n", "")], "private.data.train is missing"),
    two("other epochs", [job("a", "epochs: 1", "epochs: 2")], (SHARED, "training.epochs is 2 here and 1 at the peer",
      ALIKE),
        (SHARED, "training.epochs is 1 here and 2 at the peer", ALIKE)),
    two("another model", [job("b", "kind: lr", "kind: mlp")], (SHARED, "model.kind is lr here", ALIKE),
        (SHARED, "model.kind is mlp here", ALIKE)),
    two("another alignment", [job("b", "intersection", "union")], (SHARED, "alignment.mode is intersection here",
      ALIKE),
        (SHARED, "alignment.mode is union here", ALIKE)),
    two("other schemes", [job("b", "[lattice]", "[lattice, paillier]")],
        ("the section shared.scheme of the job", "paillier at the peer", ALIKE),
        ("the section shared.scheme of the job", "paillier here", ALIKE)),
    two("a test file at one party only", [job("a", "    test: test.csv\n", "")],
      ("private.data.test is given is no here", ALIKE),
        ("private.data.test is given is yes here", ALIKE)),
    two("A twice", [job("b", "party: b", "party: a\n  accept: open_top"), job("b", "    label_column: y\n", ""), put("b/train.csv",
      table("a")),
        put("b/test.csv", table("a"))], ("call themselves A", "the one with the labels is B"),
        ("call themselves A", "the one with the labels is B")),
]

STOPPED = ("the peer stopped after an error", "it says there which")
A_TRAIN, B_TRAIN = "a/train.csv", "b/train.csv"
DATA = [
    a("no such file", [remove(A_TRAIN)], A_TRAIN, "there is no such file", "check the path"),
    a("a folder", [job("a", "train: train.csv", "train: .")], "is a directory", "name a file"),
    a("an empty file", [put(A_TRAIN, "")], A_TRAIN, "holds nothing", "check that it is the right file"),
    a("a header and no rows", [put(A_TRAIN, "id,x,z\n")], A_TRAIN, "holds no rows", "check"),
    a("no header", [put(A_TRAIN, f"1{MARK},2{MARK},3{MARK}\n")], A_TRAIN, "has no column 'id'", "check the header"),
    a("no such column", [option("a", "columns: [{name: w}]")], A_TRAIN, "has no column 'w'", "check its header"),
    a("a text for a number", [cell(A_TRAIN, 5, 1, "hush")], A_TRAIN, "line 5: column 2 ('x')", "not a number",
      "list it as one"),
    a("a missing number", [option("a", "columns: [{name: z, missing: error}]"), cell(A_TRAIN, 6, 2, "NA")], A_TRAIN, "line 6: column 3 ('z')", "the number is missing",
      "fill it in"),
    a("an infinite number", [cell(A_TRAIN, 6, 2, "inf")], A_TRAIN, "line 6: column 3 ('z')", "not a finite number"),
    a("a number beyond all", [cell(A_TRAIN, 6, 2, "1e400")], A_TRAIN, "line 6: column 3 ('z')", "not a finite number"),
    a("columns that the job does not list", [job("a", "    default_kind: numeric\n", "    columns: [{name: x}]\n")],
      A_TRAIN, "does not list 'z'", "kind: ignore", "private.data.default_kind"),
    b("no such positive class", [option("b", "label: {positive: maybe}")], "private.data.label.positive",
      "none of the two labels", "write it as the file does"),
    b("a weight below 0", [option("b", "weight_column: u"), cell(B_TRAIN, 4, 1, "-" + MARK)], B_TRAIN,
      "line 4: column 2 ('u')", "a weight below 0"),
    a("a number that is none", [cell(A_TRAIN, 6, 2, "-nan")], A_TRAIN, "line 6: column 3 ('z')", "not a finite number"),
    a("a number too large for the encoding", [cell(A_TRAIN, 7, 1, "17" + MARK)], A_TRAIN, "line 7: column 2 ('x')",
      "private.data.numeric.largest", "raise it"),
    a("a row with a cell too many", [cell(A_TRAIN, 4, 1, "1,2")], A_TRAIN, "line 4", "more than 3 cells", "quote"),
    a("a row with a cell too few", [put(A_TRAIN, f"id,x,z\n1,{MARK}\n")], A_TRAIN, "line 2", "2 cells instead of 3",
      "quote"),
    a("a quote that is not closed", [cell(A_TRAIN, 4, 0, '"hush')], A_TRAIN, "line 4", "never closed", "close it"),
    a("a quote within a cell", [cell(A_TRAIN, 4, 1,
      '1"hush')], A_TRAIN, "line 4", "a quote within a cell", "quote the cell"),
    a("bytes that are no text", [put(A_TRAIN, b"id,x,z\n1,\0,2\n")], A_TRAIN, "line 2", "a NUL byte",
      "not a text file"),
    a("an id twice", [cell(A_TRAIN, 9, 0, f"id{MARK}-2")], A_TRAIN, "rows 3 and 8", "the same id", "keep one"),
    a("an id twice, to align", [cell(A_TRAIN, 9, 0, f"id{MARK}-2")], A_TRAIN, "rows 3 and 8", "the same id", "keep one",
      run="align --out a/list.csv"),
    a("a missing id", [cell(A_TRAIN, 9, 0, "")], A_TRAIN, "line 9: column 1 ('id')", "the id is missing", "fill it in"),
    a("a cut gz file", [put("a/train.csv.gz", gzip.compress(table("a").encode())[:-20]),
                        job("a", "train: train.csv", "train: train.csv.gz")], "a/train.csv.gz", "cut short",
      "fetch it again"),
    a("a damaged gz file", [put("a/train.csv.gz", gzip.compress(table("a").encode())), flip("a/train.csv.gz", 30),
                            job("a", "train: train.csv", "train: train.csv.gz")], "a/train.csv.gz", "damaged",
      "fetch the file again"),
    a("categories in a model of numbers", [option("a", "columns: [{name: z, kind: categorical}]")], "column 'z'",
      "one_hot: true"),
    a("too many categories in a cell", [option("a",
      "columns: [{name: z, kind: multi, one_hot: true, most_per_row: 2}]"),
                                        cell(A_TRAIN, 5, 2, "hush;two;three")], A_TRAIN, "line 5: column 3 ('z')",
      "more than 2 categories", "most_per_row"),
    b("too many classes", [cell(B_TRAIN, 5, 2, "hush")], B_TRAIN, "column 'y'", "3 different labels",
      "shared.model.classes"),
    b("a missing label", [cell(B_TRAIN, 5, 2, "")], B_TRAIN, "line 5: column 3 ('y')", "the label is missing",
      "fill it in"),
    b("no such label column", [job("b", "label_column: y", "label_column: w")], B_TRAIN, "has no column 'w'"),
    b("a label that the training file has not", [cell("b/test.csv", 3, 2, "hush")], "b/test.csv",
      "line 3: column 3 ('y')", "the label is none of those"),
    b("a negative count", [job("b", "kind: lr", "kind: poisson"), put(B_TRAIN, "id,u,y\n1,1,3\n2,1,-" + MARK + "\n")],
      B_TRAIN, "line 3: column 3 ('y')", "not a whole number from 0 on"),
    b("a text for a label of a number", [job("b", "kind: lr", "kind: linear"), put(B_TRAIN,
      "id,u,y\n1,1,3\n2,1,hush\n")],
      B_TRAIN, "line 3: column 3 ('y')", "not a finite number"),
    a("LIBSVM: no colon", svm("a", f"0 1:1\n0 2{MARK}\n"), "a/train.svm", "line 2: entry 1", "index:value"),
    a("LIBSVM: a bad index", svm("a", f"0 1:1\n0 x{MARK}:1\n"), "a/train.svm", "line 2: entry 1", "not a whole number"),
    a("LIBSVM: an index twice", svm("a", f"0 1:1\n0 1:0.{MARK} 1:2\n"), "a/train.svm", "line 2: entry 2",
      "duplicate index", "keep one"),
    a("LIBSVM: index 0", svm("a", f"0 0:0.{MARK}\n"), "a/train.svm", "line 1: entry 1", "first_index"),
    b("LIBSVM: a bad label", svm("b", f"0 1:1\nx{MARK} 1:1\n"), "b/train.svm", "line 2", "not a number"),
    a("LIBSVM: ids to align by", [option("a", "format: libsvm")], "a/job.yaml:", "private.data.id_column", "LIBSVM",
      "leave it out"),
    two("other ids", [put(A_TRAIN, table("a", first=100))], ("training rows", "no id in common", "compare how"),
        ("training rows", "no id in common", "compare how")),
    two("aligned rows in another order", [aligned, put(A_TRAIN, table("a", first=1))],
        ("training rows", "not about the same people in the same order", "set the mode to intersection"),
        ("training rows", "not about the same people in the same order", "set the mode to intersection")),
    two("weights beyond the agreed range", [job("b", "  link:", "  top: {class_weights: [1, 300]}\n  link:")],
        STOPPED, ("private.top.class_weights", "shared.training.derivative.largest", "cut off")),
    two("other numbers of rows in aligned mode", [aligned, put(A_TRAIN, table("a", rows=ROWS - 1))],
        ("training rows", "shared.alignment.mode aligned, is 23 here and 24"),
        ("training rows", "shared.alignment.mode aligned, is 24 here and 23")),
]

CERTIFICATES = [
    a("no certificate", [remove("a/a.crt")], "a/a.crt", "cannot be opened", "check the path"),
    a("no key", [remove("a/a.key")], "a/a.key", "cannot be opened", "check the path"),
    a("no certificate of the peer", [remove("b/b.crt")], "b/b.crt", "cannot be opened", "check the path"),
    a("a key of another certificate", [copy("c/c.key", "a/a.key")], "a/a.key", "is not the key of", "keygen"),
    a("a key that others may read", [chmod("a/a.key", 0o644)], "a/a.key", "chmod 600"),
    a("a damaged certificate", [flip("a/a.crt", 200)], "a/a.crt", "damaged", "get the file again"),
    a("a cut certificate", [cut("a/a.crt")], "a/a.crt", "cut short", "get the file again"),
    a("a key for a certificate", [copy("a/a.key", "a/a.crt")], "a/a.crt", "holds a private key",
      "name the certificate instead"),
    a("an empty certificate", [put("b/b.crt", "")], "b/b.crt", "is empty", "name a file made by"),
    a("another fingerprint", [job("a", "    patience:", f"    peer_fingerprint: {'ab' * 32}\n    patience:")],
      "private.link.peer_fingerprint", "b/b.crt", "ask the peer"),
    a("no fingerprint", [job("a", "    patience:", "    peer_fingerprint: abc\n    patience:")],
      "private.link.peer_fingerprint", "64 hexadecimal digits"),
    a("an expired certificate of the peer", [put("b/b.crt", OLD_CERTIFICATE)], "b/b.crt",
      "the certificate has expired", "the peer must make a new one"),
    two("another certificate than the peer knows", [copy("a/a.crt", "b/known.crt"), job("b", "../a/a.crt", "known.crt"),
        copy("c/c.crt", "a/a.crt"), copy("c/c.key", "a/a.key")], ("does the peer have this party's certificate",),
      ("is not the expected one", "by phone"), patience=APART),
    two("A expects another than B", [job("a", "../b/b.crt", "../c/c.crt")],
        ("is not the expected one", "by phone"), ("nobody called", "certificate"), patience=APART),
    two("plaintext at A", [lambda folder: plaintext(folder, "a")], ("does it use TLS",), ("nobody called", "TLS"),
      patience=APART),
    two("plaintext at B", [lambda folder: plaintext(folder, "b")], ("does not speak TLS", "--plaintext"),
        ("nobody called", "TLS"), patience=APART),
]

SAVED = "shared.training.learning_rate was 0.1, is 0.2"
RUNS = [
    a("a folder that is not empty", [kept()], "a/run", "blindfl resume"),
    a("a folder of something else", [lambda folder: (folder / "a/run").mkdir(), put("a/run/notes.txt", "x")], "a/run",
      "is not the folder of a run", "name another", run="resume"),
    a("predict without a model", [], "a/run/model/model.bin", "blindfl train", run="predict"),
    a("a cut model", [kept(), cut("a/run/model/model.bin")], "a/run/model/model.bin", "cut short", "use another copy",
      run="predict"),
    a("a damaged model", [kept(), flip("a/run/model/model.bin")], "a/run/model/model.bin", "damaged",
      "use another copy", run="predict"),
    a("a model of a newer release", [kept(), of_version("a/run/model/model.bin", 99)], "a/run/model/model.bin",
      "version 99", "use the release", run="predict"),
    a("a model that others may read", [kept(), chmod("a/run/model/model.bin", 0o644)], "a/run/model/model.bin",
      "chmod 600", run="predict"),
    a("the peer's model", [kept(), copy("b/run/model/model.bin", "a/run/model/model.bin")], "a/run/model",
      "other party's", "check private.party", run="predict"),
    a("keys that others may read", [kept(), put("a/run/model/keys.bin", ""), chmod("a/run/model/keys.bin", 0o644)],
      "a/run/model/keys.bin", "chmod 600", run="predict"),
    a("no preparation", [kept(), remove("a/run/model/preparation.bin")], "a/run/model/preparation.bin",
      "cannot be opened", run="predict"),
    a("a cut summary", [kept(), cut("a/run/summary.json")], "a/run/summary.json", "not JSON",
      "take it from a backup", run="resume"),
    a("the peer's folder", [kept(), lambda folder: (shutil.rmtree(folder / "a/run"),
      shutil.copytree(folder / "b/run", folder / "a/run"))], "a/run", "belongs to", "name another folder",
      run="resume"),
    a("cut keys", [kept(), put("a/run/keys.bin", "BlindFL\n"), chmod("a/run/keys.bin", 0o600)], "a/run/keys.bin",
      "cut short", "use another copy", run="resume"),
    a("rows to score without a column", [kept(), put("a/test.csv", "id,x\n1,1\n")], "a/test.csv", "has no column 'z'",
      run="predict"),
    a("nothing to score", [kept(), job("a", "    score: test.csv\n", "")], "--data is missing", "private.data.score",
      run="predict"),
    two("a cut checkpoint", [kept(), cut(last_checkpoint("a"))], (last_checkpoint("a"), "cut short"), STOPPED,
        run="resume"),
    two("a damaged checkpoint", [kept(), flip(last_checkpoint("b"))], STOPPED, (last_checkpoint("b"), "damaged"),
        run="resume"),
    two("a checkpoint of a newer release", [kept(), of_version(last_checkpoint("a"), 99)],
        (last_checkpoint("a"), "version 99"), STOPPED, run="resume"),
    two("the peer's checkpoint", [kept(), copy(last_checkpoint("b"), last_checkpoint("a"))],
        (last_checkpoint("a"), "belongs to"), STOPPED, run="resume"),
    two("another run's checkpoint", [kept(), lambda folder: shutil.copy2(
        folder / last_checkpoint("a").replace("/run/", "/kept_other/"), folder / last_checkpoint("a"))],
        (last_checkpoint("a"), "belongs to"), STOPPED, run="resume"),
    two("a checkpoint that others may read", [kept(), chmod(last_checkpoint("a"), 0o644)],
        (last_checkpoint("a"), "chmod 600"), STOPPED, run="resume"),
    two("no alignment", [kept(), remove("a/run/alignment.bin")], ("a/run/alignment.bin", "cannot be opened"), STOPPED,
      run="resume"),
    two("fewer rows than before", [kept(), put(A_TRAIN, table("a", rows=ROWS - 2))], (A_TRAIN,
      "has changed since the run began", "bring it back"), STOPPED,
        run="resume"),
    two("more rows than before", [kept(), put(A_TRAIN, table("a", rows=ROWS + 2))], (A_TRAIN,
      "has changed since the run began", "bring it back"), STOPPED,
        run="resume"),
    two("other rows than before", [kept(), put(A_TRAIN, table("a", first=1))], (A_TRAIN,
      "has changed since the run began", "bring it back"), STOPPED,
        run="resume"),
    two("another run at the peer", [kept("run", "a"), kept("other", "b")], ("private.run.folder",),
        ("private.run.folder",), run="resume"),
    two("resume without a run at the peer", [kept("run", "a")], ("private.run.folder",), ("private.run.folder",),
        run="resume"),
    two("models of two runs", [kept("run", "a"), kept("other", "b")], ("the model", "private.run.folder"),
      ("the model", "private.run.folder"),
        run={"a": "predict", "b": PREDICT}),
    two("other settings than the run began with", [kept(), job("ab", "learning_rate: 0.1", "learning_rate: 0.2")],
        (SAVED, "job.yaml"), (SAVED, "job.yaml"), run="resume"),
    two("labels that evaluate needs", [kept(), put("b/test.csv", "id,u\n1,1\n")], ("no link to the peer",),
      ("b/test.csv", "column 'y'"),
        run="evaluate", patience=APART),
    a("a folder in use", [kept()], "a/run", "another process", "wait for its end", run="resume", stranger="lock"),
    b("scores to nowhere", [kept()], "--scores no/where.csv", "make it first", run="predict --scores no/where.csv"),
]

PEERS = [
    a("nobody listens", [], "127.0.0.1:", "nobody listens there", "is the peer running"),
    b("nobody calls", [], "127.0.0.1:", "nobody called", "is the peer running"),
    b("a port that is taken", [], "cannot listen on 127.0.0.1:", "is the port taken", stranger="taken"),
    a("a peer that speaks garbage", [], "127.0.0.1:", "does not speak TLS", "another program", stranger="garbage"),
    a("a peer that closes at once", [], "127.0.0.1:", "does it use TLS", stranger="closes"),
    a("a peer that says nothing", [], "127.0.0.1:", "it does not answer", "is it BlindFL", stranger="silent"),
    b("a caller who speaks garbage", [], "127.0.0.1:", "nobody called", stranger="caller"),
    two("predict against train", [kept("run", "a")], ("command is predict here and train",),
      ("command is train here and predict",),
        run={"a": "predict", "b": "train"}),
    two("evaluate against predict", [kept()], ("command is evaluate here",), ("command is predict here",),
        run={"a": "evaluate", "b": PREDICT}),
    two("align against train", [], ("command is align here",), ("command is train here",),
        run={"a": "align --out a/list.csv", "b": "train"}),
    two("resume against train", [kept("run", "a")], ("nothing that both parties can resume",),
        ("nothing that both parties can resume",), run={"a": "resume", "b": "train"}),
    two("ping against train", [], ("do both parties run the same command",),
      ("do both parties run the same command",), run={
        "a": "ping --dial 127.0.0.1:PORT --certificate a/a.crt --key a/a.key --peer b/b.crt --patience 30",
        "b": "train"}),
    two("both listen", [job("a", "dial:", "listen:"), job("a", "127.0.0.1:", "127.0.0.2:")], ("nobody called",
      "does it dial"), ("nobody called", "does it dial"), patience=APART),
]

GROUPS = {"use": USE, "jobs": JOBS, "data": DATA, "certificates": CERTIFICATES, "runs": RUNS, "peers": PEERS}
