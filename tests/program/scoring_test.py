"""Every kind of model trains and predicts; what is scored twice is the same to the last byte."""

import gzip
import re
import subprocess

import program
from program import ProgramTest, Table

TRAINING = {"epochs": 2, "batch": 32, "learning_rate": 0.05}
CATEGORIES = {"one_hot": False}


def job(model, mode="aligned", **more):
    shared = {"model": {"top": "open", **model}, "training": TRAINING, "alignment": {"mode": mode}}
    for section, values in more.items():
        shared[section] = {**shared.get(section, {}), **values}
    return shared


class Scoring(ProgramTest):
    def small_pair(self, shared, labels="binary", all_of_them=True, **more):
        return self.pair(shared, table=Table(3, 100, labels=labels), test=Table(4, 40, first_id=70000, labels=labels),
                         both_have_all=all_of_them, **more)

    def predict(self, pair, name="scores.csv", **extra):
        pair.both("predict", extra_b=["--scores", str(pair.b / name)], **extra)
        return (pair.b / name).read_bytes()

    def check_predictions(self, pair):
        """Twice what training wrote down, and the measures that it saw."""
        pair.both("train")
        self.check_finished(pair)
        tested = (pair.b / "run/test_scores.csv").read_bytes()
        self.assertGreater(len(tested.splitlines()), 30)
        self.assertEqual(self.predict(pair, "first.csv"), tested)
        self.assertEqual(self.predict(pair, "second.csv"), tested)
        b = pair.both("evaluate")[1]
        for name, value in pair.results().items():
            printed = re.search(rf"^{name} (\S+)$", b.printed(), re.MULTILINE)
            self.assertIsNotNone(printed, b.printed())
            self.assertAlmostEqual(float(printed[1]), value, delta=1e-6)
        self.check_nothing_of_labels(pair.a / "run")
        self.assertFalse(list(pair.a.rglob("*scores*")))

    def check_consent(self, pair):
        """A does not score unless it accepts an open top, and says so before it meets B."""
        for command in ("predict", "evaluate", "train", "resume"):
            alone = program.Process(command, pair.a, ["--set", "private.accept=nothing", "--set",
                                                      f"private.run.folder={pair.a / ('run' if command != 'train' else 'new')}"])
            self.assertEqual(alone.end(), 1)
            lines = alone.complaint().splitlines()
            self.assertEqual(len(lines), 3, lines)
            self.assertIn(f"blindfl {command}: private.accept: with an open top B sees", lines[0])
            self.assertIn("(a) is not known to apply: 1 output for ", lines[1])
            self.assertIn("accept: open_top", lines[2])
            self.assertNotIn("dialling", alone.printed())

    def test_logistic_regression(self):
        pair = self.small_pair(job({"kind": "lr"}))
        self.check_predictions(pair)
        self.check_consent(pair)

    def test_multi_layer_perceptron(self):
        self.check_predictions(self.small_pair(job({"kind": "mlp", "hidden": [6]})))

    def test_wide_and_deep(self):
        model = {"kind": "wdl", "hidden": [4], "embedding_dim": 2}
        shared = job(model, scheme={"update": "exchanged"})
        self.check_predictions(self.small_pair(shared, columns=CATEGORIES))

    def test_logistic_regression_under_encryption(self):
        shared = job({"kind": "lr"}, scheme={"update": "encrypted"}, training={"epochs": 1})
        self.check_predictions(self.small_pair(shared))

    def test_every_other_kind(self):
        kinds = {
            "mlr": ({"classes": 3}, "classes"),
            "linear": ({}, "number"),
            "poisson": ({}, "count"),
            "dlrm": ({"embedding_dim": 2, "dlrm": {"bottom": [4], "top": [4], "vectors": 2}}, "binary"),
            "fm": ({"factors": 3}, "binary"),
            "deepfm": ({"factors": 2, "embedding_dim": 2, "hidden": [4]}, "binary"),
        }
        for kind, (options, labels) in kinds.items():
            with self.subTest(kind=kind):
                columns = CATEGORIES if kind in ("dlrm", "deepfm") else None
                pair = self.small_pair(job({"kind": kind, **options}, training={"epochs": 1}), labels, columns=columns)
                pair.both("train")
                self.check_finished(pair)
                self.assertEqual(self.predict(pair), (pair.b / "run/test_scores.csv").read_bytes())

    def test_people_are_found_in_every_way(self):
        for mode in ("intersection", "only_b", "union"):
            with self.subTest(mode=mode):
                pair = self.small_pair(job({"kind": "lr"}, mode, training={"epochs": 1}), all_of_them=False)
                pair.both("train")
                self.check_finished(pair)
                again = self.predict(pair)
                self.assertEqual(again, (pair.b / "run/test_scores.csv").read_bytes(), "the order of the test is kept")
                self.assertEqual(self.predict(pair, "again.csv"), again)
                scored = again.decode().splitlines()
                self.assertEqual(len(scored) - 1, 36 if mode == "union" else 32)
                of_b = {line.split(",")[0] for line in (pair.b / "test.csv").read_text().splitlines()[1:]}
                self.assertLessEqual({line.split(",")[0] for line in scored[1:]}, of_b)

    def test_a_counts_scorings_and_stops(self):
        pair = self.small_pair(job({"kind": "lr"}, "intersection", training={"epochs": 1}))
        pair.both("train")
        a = pair.both("evaluate")[0]
        self.assertIn("scoring 2 of this file with this model, of 16 (private.limits.scorings)", a.printed())
        refused = program.Process("predict", pair.a, ["--set", "private.limits.scorings=2"])
        self.assertEqual(refused.end(), 1)
        self.assertIn("has been scored 2 times with this model, and private.limits.scorings is 2", refused.complaint())
        inspected = subprocess.run([program.program(), "inspect", "--folder", str(pair.a / "run")], capture_output=True,
                                   text=True, check=True)
        self.assertRegex(inspected.stdout, r"scored +2 times by model \w+-\d+: the file with SHA-256 [0-9a-f]{16}")

    def test_without_a_test_file_rows_are_kept_back_and_placeholders_do_not_count(self):
        pair = self.small_pair(job({"kind": "lr"}, "only_b"), all_of_them=False)
        for party in (pair.a, pair.b):
            text = (party / "job.yaml").read_text()
            (party / "job.yaml").write_text(text.replace('test: "./test.csv", ', ""))
        b = pair.both("train")[1]
        self.check_finished(pair)
        # 90 rows of A's; B has 80 of them, and cannot say that without telling A who they are.
        self.assertEqual(pair.summary("a")["rows"], {"training": 81, "validation": 0, "test": 9})
        summary = pair.summary("b")
        rows = summary["rows"]
        self.assertEqual(rows["training"] + rows["test"], 80)
        self.assertIn(f"training on {rows['training']} rows, testing on {rows['test']} of the same file", b.printed())
        self.assertEqual(len((pair.b / "run/test_scores.csv").read_text().splitlines()), rows["test"] + 1)
        self.assertIn("accuracy", summary["results"])
        self.assertEqual(summary["baseline"].keys(), summary["results"].keys())
        self.assertIn(f"B alone: accuracy {summary['baseline']['accuracy']:.4f}, federated", b.printed())
        self.assertEqual(sum(map(sum, summary["confusion"]["counts"])), rows["test"])
        inspected = program.subprocess.run([program.program(), "inspect", "--folder", str(pair.b / "run")], text=True,
                                           capture_output=True, check=True).stdout
        self.assertIn(f"trained on      {rows['training']} rows", inspected)
        self.assertIn("precision  recall  taken for", inspected)
        self.assertIn("B alone: accuracy", inspected)

    def test_compressed_files(self):
        pair = self.small_pair(job({"kind": "lr"}))
        pair.both("train")
        expected = pair.results()
        for party in (pair.a, pair.b):
            for name in ("train", "test"):
                with gzip.open(party / f"{name}.csv.gz", "wb") as out:
                    out.write((party / f"{name}.csv").read_bytes())
        extra = {}
        for party in "ab":
            folder = pair.folder / party
            extra[f"extra_{party}"] = [
                word for key, path in (("data.train", "train.csv.gz"), ("data.test", "test.csv.gz"), ("run.folder", "run2"))
                for word in ("--set", f"private.{key}={folder / path}")]
        pair.both("train", **extra)
        again = (pair.b / "run2/test_scores.csv").read_text().splitlines()
        self.assertEqual(len(again), 41)
        summary = program.json.loads((pair.b / "run2/summary.json").read_text())
        self.assert_same_results(summary["results"], expected)

    def test_libsvm_files(self):
        pair = self.small_pair(job({"kind": "lr"}))
        for party in "ab":
            folder = pair.folder / party
            for name in ("train", "test"):
                rows = [line.split(",") for line in (folder / f"{name}.csv").read_text().splitlines()[1:]]
                lines = [f"{row[-1] if party == 'b' else 0} 1:{row[1]} 2:{row[2]} 3:{row[3]}" for row in rows]
                (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
            text = (folder / "job.yaml").read_text()
            text = re.sub(r"  data: .*", '  data: {train: "./train.csv", test: "./test.csv", score: "./test.csv", '
                          "format: libsvm, libsvm: {features: 3}}", text)
            (folder / "job.yaml").write_text(text)
        self.check_predictions(pair)

    def test_options_of_training(self):
        training = {"epochs": 6, "validation_share": 0.2, "weight_decay": 0.001, "momentum": 0.5,
                    "schedule": [{"epoch": 2, "learning_rate": 0.02}, {"epoch": 3, "learning_rate": 0.0}],
                    "early_stopping": {"patience": 1, "minimum_improvement": 0.001}}
        top = {"top": {"class_weights": [1, 2.5], "clip_gradient": 0.5, "metrics": ["accuracy", "auc", "loss"]}}
        pair = self.small_pair(job({"kind": "mlp", "hidden": [4]}, training=training), private_b=top)
        a, b = pair.both("train")
        self.check_finished(pair)
        summary = pair.summary("b")
        self.assertEqual(set(summary["results"]), {"accuracy", "auc", "loss"})
        # What is watched, that it stopped and what is kept are said; the test is of the model that is kept.
        self.assertRegex(b.printed(), r"validation .*\(watched: accuracy 0\.\d+, the best so far\)")
        self.assertRegex(b.printed(), r"watched: accuracy 0\.\d+, not better than 0\.\d+ in epoch \d for 1 of 1 epochs")
        best = summary["best"]
        for party in (a, b):
            self.assertRegex(party.printed(), r"stopped early, after epoch \d of 6: validation has not improved for 1 epoch")
            self.assertIn(f"the model of step {best['step']} (epoch {best['epoch']}) was the best in validation", party.printed())
        self.assertTrue(summary["stopped_early"])
        self.assertLess(best["epoch"], summary["epochs"])
        self.assertEqual(pair.summary("a")["best"], best)
        test = [line for line in pair.metrics("b") if line["set"] == "test"]
        self.assertEqual([(line["step"], line["epoch"]) for line in test], [(best["step"], best["epoch"])])
        # Nothing is learned at a rate of 0, so that patience ends in the third or fourth epoch.
        self.assertLessEqual(summary["epochs"], 4)

    def test_weights_and_the_positive_class(self):
        private = {"top": {"class_weights": "balanced"},
                   "data": {"label": {"positive": "0"}, "weight_column": "w", "missing": ["", "NA"]}}
        pair = self.small_pair(job({"kind": "lr"}), private_b=private)
        for name in ("train", "test"):
            path = pair.b / f"{name}.csv"
            lines = path.read_text().splitlines()
            path.write_text("\n".join([lines[0] + ",w"] + [f"{line},{1 + i % 3}" for i, line in enumerate(lines[1:])]) + "\n")
        b = pair.both("train")[1]
        self.check_finished(pair)
        self.assertIn("positive class: 0; the other: 1\n", b.printed())
        self.assertRegex(b.printed(), r"class weights: 1 [\d.]+, 0 [\d.]+\n")
        self.assertEqual((pair.b / "run/test_scores.csv").read_text().splitlines()[0], "id,score_0")
        # People to score need neither label nor weight, and a cell may be empty that never was: it is filled, and told.
        rows = [line.split(",")[:5] for line in (pair.b / "test.csv").read_text().splitlines()]
        rows[1][1] = ""
        (pair.b / "new.csv").write_text("\n".join(",".join(row) for row in rows) + "\n")
        _, b = pair.both("predict", extra_a=["--data", str(pair.a / "test.csv")],
                         extra_b=["--data", str(pair.b / "new.csv"), "--scores", str(pair.b / "scores.csv")])
        self.assertIn("missing cells, filled as in training: 'b0' 1\n", b.printed())
        self.assertEqual(len((pair.b / "scores.csv").read_text().splitlines()), 41)


if __name__ == "__main__":
    program.run_tests("__main__")
