"use strict";

// Sorts a table by a column: by data-order where the cells have one, else by their text.
function sortBy(table, header, index) {
  const descending = header.getAttribute("aria-sort") === "ascending";
  for (const each of header.parentElement.children) each.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const key = (row) => row.cells[index].dataset.order;
  const rows = [...table.tBodies[0].rows].sort((a, b) =>
    key(a) !== undefined && key(b) !== undefined
      ? Number(key(a)) - Number(key(b))
      : a.cells[index].textContent.localeCompare(b.cells[index].textContent));
  table.tBodies[0].append(...(descending ? rows.reverse() : rows));
}

for (const table of document.querySelectorAll("table")) {
  [...table.tHead.rows[0].cells].forEach((header, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = header.textContent;
    button.addEventListener("click", () => sortBy(table, header, index));
    header.replaceChildren(button);
  });
}

// One field hides, in all tables, the rows that lack its words, and tables that have no row left.
const field = document.createElement("input");
field.type = "search";
field.placeholder = "Filter rows: bf16 mlp";
field.setAttribute("aria-label", "Show only the rows that have these words");
field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const table of document.querySelectorAll("table")) {
    const title = table.caption === null ? "" : table.caption.textContent;
    let left = 0;
    for (const row of table.tBodies[0].rows) {
      const cells = [...row.cells].map((cell) => cell.textContent).join(" ");
      const text = (title + " " + cells).toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) left += 1;
    }
    table.parentElement.hidden = left === 0;
  }
});
const bar = document.createElement("div");
bar.className = "filter";
bar.append(field);
document.querySelector("main").prepend(bar);

for (const link of document.querySelectorAll("a.download")) {
  link.addEventListener("click", () => {
    const text = document.getElementById(link.dataset.from).textContent;
    link.href = URL.createObjectURL(new Blob([text], {type: "application/json"}));
    link.download = link.textContent.split("/").pop();
  });
}

// Draws the figures in the page's own colours, again where those change.
function draw() {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const axis = {gridcolor: colour("--line"), zerolinecolor: colour("--line")};
  for (const plot of document.querySelectorAll(".plot")) {
    const figure = JSON.parse(document.getElementById(plot.dataset.from).textContent);
    const layout = Object.assign({
      paper_bgcolor: "transparent",
      plot_bgcolor: "transparent",
      font: {color: colour("--ink"), family: "system-ui, sans-serif", size: 13},
      margin: {t: 20, r: 20, l: 60},
      legend: {orientation: "h", y: -0.2},
      modebar: {bgcolor: "transparent", color: colour("--faint")},
    }, figure.layout);
    layout.xaxis = Object.assign({}, axis, layout.xaxis);
    layout.yaxis = Object.assign({}, axis, layout.yaxis);
    Plotly.newPlot(plot, figure.data, layout, {responsive: true, displaylogo: false});
  }
}
if (typeof Plotly !== "undefined") {
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
