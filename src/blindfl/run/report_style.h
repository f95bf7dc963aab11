#pragma once

#include <string_view>

namespace blindfl::run {

/// The style sheet of reports. Without characters that HTML or XML would take for markup.
constexpr std::string_view kReportStyle = R"css(
:root { color-scheme: light dark; --ink: #1c2128; --soft: #59636e; --rule: #d1d9e0; --paper: #ffffff; --card: #f6f8fa;
  --c0: #0b62c4; --c1: #b3470b; --c2: #1d7a35; --c3: #7a3fc4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9aa5b1; --rule: #3a424c; --paper: #10151c;
  --card: #1a212a; --c0: #6cb0ff; --c1: #ff9a5c; --c2: #5bd07a; --c3: #c39bff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2rem 1rem 3rem; max-width: 62rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0.2rem 0; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 0.6rem; padding-top: 0.6rem; border-top: 1px solid var(--rule); }
h3 { font-size: 1rem; margin: 1rem 0 0.3rem; }
p { margin: 0.4rem 0; }
.note, .lead { color: var(--soft); }
.note { font-size: 0.9rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.8rem, 1fr)); gap: 0.6rem; margin: 1rem 0; }
.card { background: var(--card); border: 1px solid var(--rule); border-radius: 0.5rem; padding: 0.5rem 0.8rem; }
.card b { display: block; font-size: 1.25rem; font-variant-numeric: tabular-nums; }
.card span { display: block; color: var(--soft); font-size: 0.85rem; line-height: 1.3; }
.card .beside { margin-top: 0.2rem; color: var(--ink); }
.grid2 { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 21rem), 1fr)); gap: 1rem 1.6rem; }
figure { margin: 0; break-inside: avoid; }
figcaption { font-weight: 600; margin-bottom: 0.2rem; }
svg { display: block; width: 100%; max-width: 36rem; height: auto; }
svg text { fill: var(--ink); font-size: 13px; font-family: inherit; }
svg .tick { fill: var(--soft); font-size: 12px; }
.grid { stroke: var(--rule); stroke-width: 1; }
.axis { stroke: var(--soft); stroke-width: 1; }
.diagonal { stroke: var(--soft); stroke-width: 1.2; stroke-dasharray: 4 4; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.line.c0, .dots.c0 { stroke: var(--c0); } .line.c1, .dots.c1 { stroke: var(--c1); }
.line.c2, .dots.c2 { stroke: var(--c2); } .line.c3, .dots.c3 { stroke: var(--c3); }
.line.c1 { stroke-dasharray: 7 3; } .line.c2 { stroke-dasharray: 2 3; } .line.c3 { stroke-dasharray: 9 3 2 3; }
.line.behind { stroke-width: 1; opacity: 0.35; stroke-dasharray: none; }
.dots { fill: none; stroke-width: 7; stroke-linecap: round; } .dots.many { stroke-width: 4; opacity: 0.45; }
.bar.c0 { fill: var(--c0); } .bar.c1 { fill: var(--c1); } .bar.c2 { fill: var(--c2); } .bar.c3 { fill: var(--c3); }
.mark { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 3 3; }
.legend { font-size: 0.9rem; margin: 0.2rem 0; } .legend span { margin-right: 1.2rem; white-space: nowrap; }
.key { display: inline-block; width: 0.75em; height: 0.75em; margin-right: 0.4em; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.7rem 0.3rem 0; border-bottom: 1px solid var(--rule); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tr.sum td { font-weight: 600; }
details { margin: 0.8rem 0; } summary { cursor: pointer; color: var(--c0); } .wide { margin-top: 1rem; }
.confusion { width: auto; font-variant-numeric: tabular-nums; } .confusion th { font-weight: 600; padding-right: 0.8rem; }
.confusion th.n { white-space: normal; min-width: 4.5rem; max-width: 9rem; padding: 0.35rem 0.7rem; }
.confusion td { padding: 0.35rem 0.7rem; text-align: right; }
.right { --heat: var(--c0); } .wrong { --heat: var(--c1); }
.h1 { background: color-mix(in srgb, var(--heat) 8%, transparent); } .h2 { background: color-mix(in srgb, var(--heat) 13%, transparent); }
.h3 { background: color-mix(in srgb, var(--heat) 18%, transparent); } .h4 { background: color-mix(in srgb, var(--heat) 23%, transparent); }
.h5 { background: color-mix(in srgb, var(--heat) 28%, transparent); } .h6 { background: color-mix(in srgb, var(--heat) 33%, transparent); }
.h7 { background: color-mix(in srgb, var(--heat) 38%, transparent); } .h8 { background: color-mix(in srgb, var(--heat) 43%, transparent); }
.h9 { background: color-mix(in srgb, var(--heat) 48%, transparent); } .h10 { background: color-mix(in srgb, var(--heat) 53%, transparent); }
.known { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1rem; }
.party { background: var(--card); border: 1px solid var(--rule); border-radius: 0.5rem; padding: 0.4rem 1rem 0.8rem; }
.party h3:first-child { font-size: 1.1rem; } ul { margin: 0.2rem 0; padding-left: 1.2rem; } li { margin: 0.25rem 0; }
footer { margin-top: 2.5rem; color: var(--soft); font-size: 0.85rem; }
@media print { :root { --ink: #000000; --soft: #444444; --rule: #bbbbbb; --paper: #ffffff; --card: #ffffff; --c0: #0b62c4;
  --c1: #b3470b; --c2: #1d7a35; --c3: #7a3fc4; } body { max-width: none; padding: 0; font-size: 10.5pt; }
  details::details-content { content-visibility: visible; height: auto; } .heat { print-color-adjust: exact; }
  h2, h3 { break-after: avoid; } tr, .card, .party li { break-inside: avoid; } .scroll { overflow: visible; } }
)css";

}  // namespace blindfl::run
