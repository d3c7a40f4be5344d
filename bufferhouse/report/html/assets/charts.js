// Charts, drawn by Vega. It interprets expressions (ast) instead of compiling them: the policy need not allow eval.
const charts = read("charts") ?? [];

function chartRows(chart) {
  const added = Object.entries(chart.texts);
  return records(chart.source, chart.where)
    .map((row) => added.reduce((all, [name, [from, texts]]) => ({ ...all, [name]: texts[row[from]] }), row));
}

function drawCharts() {
  const soft = color("soft"), ink = color("ink");
  const config = {
    background: "transparent", font: getComputedStyle(document.body).fontFamily, view: { stroke: null },
    axis: {
      labelColor: soft, titleColor: soft, gridColor: color("line"), labelFontSize: 12, titleFontWeight: "normal",
    },
    axisX: { grid: false },
    legend: { labelColor: ink, labelFontSize: 12 },
    range: { category: [1, 2, 3, 4, 5, 6, 7, 8].map((number) => color(`c${number}`)) },
    style: {
      note: { color: ink, fontSize: 12 }, mark: { color: ink }, reserved: { color: soft }, dot: { color: ink },
      occupied: { color: color("c1") }, listed: { color: color("c2") },
      rise: { color: color("rise") }, fall: { color: color("fall") },
    },
  };
  return Promise.all(charts.map((chart, i) =>
    vegaEmbed(`#chart-${i + 1}`, { ...chart.spec, datasets: { rows: chartRows(chart) } }, {
      mode: "vega-lite", ast: true, actions: false, renderer: "svg", config,
      tooltip: { theme: dark.matches ? "dark" : "light" },
    })));
}
/** Draw, and then say for which scheme. */
function redraw() {
  const scheme = dark.matches ? "dark" : "light";
  return drawCharts().then(() => { document.documentElement.dataset.charts = scheme; });
}
redraw();
dark.addEventListener("change", redraw);
