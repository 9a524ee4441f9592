// SPDX-License-Identifier: GPL-2.0-only
// What a flame graph does: a click on a frame zooms in on it, the search marks
// frames, the mouse shows what it points at.
"use strict";
(function () {
	const svg = document.getElementById("flame");
	const margin = +svg.dataset.margin, charWidth = +svg.dataset.char;
	const room = svg.viewBox.baseVal.width - 2 * margin;
	const total = +svg.dataset.total;
	const search = document.getElementById("search");
	const reset = document.getElementById("reset");
	const details = document.getElementById("details");
	const matched = document.getElementById("matched");

	const frames = Array.from(svg.querySelectorAll("g.f"), function (g) {
		const title = g.querySelector("title").textContent;
		return {
			g: g,
			rect: g.querySelector("rect"),
			text: g.querySelector("text"),
			title: title,
			name: title.replace(/ \([^()]*\)$/, ""),
			start: +g.dataset.x,
			width: +g.dataset.w,
			depth: +g.dataset.d,
		};
	});

	function label(frame, pixels) {
		const letters = Array.from(frame.name);
		const fits = Math.floor((pixels - 4) / charWidth);

		if (letters.length <= fits)
			return frame.name;
		return fits > 3 ? letters.slice(0, fits - 2).join("") + ".." : "";
	}

	// Show what is below or above one frame, which is as wide as the picture.
	function zoom(to) {
		const end = to.start + to.width, scale = room / to.width;

		for (const frame of frames) {
			const frameEnd = frame.start + frame.width;
			const parent = frame.depth < to.depth && frame.start <= to.start &&
				frameEnd >= end;
			const inside = frame.depth >= to.depth && frame.start >= to.start &&
				frameEnd <= end;
			const x = parent ? 0 : (frame.start - to.start) * scale;
			const width = parent ? room : frame.width * scale;

			frame.g.classList.toggle("parent", parent);
			frame.g.classList.toggle("hidden", !parent && !inside);
			if (!parent && !inside)
				continue;
			frame.rect.setAttribute("x", (margin + x).toFixed(2));
			frame.rect.setAttribute("width", width.toFixed(2));
			frame.text.setAttribute("x", (margin + x + 3).toFixed(2));
			frame.text.textContent = label(frame, width);
		}
		reset.style.visibility = to === frames[0] ? "hidden" : "visible";
	}

	// Of matches within each other the outermost counts.
	function sum(matches) {
		let end = -1, all = 0;

		matches.sort((a, b) => a.start - b.start || a.depth - b.depth);
		for (const frame of matches) {
			if (frame.start < end)
				continue;
			all += frame.width;
			end = frame.start + frame.width;
		}
		return all;
	}

	function mark() {
		const matches = [];
		let pattern = null;

		try {
			pattern = search.value ? new RegExp(search.value, "i") : null;
		} catch (error) {
			matched.textContent = "not a regular expression";
			return;
		}
		for (const frame of frames) {
			const is = pattern !== null && frame.depth > 0 && pattern.test(frame.name);

			frame.g.classList.toggle("match", is);
			if (is)
				matches.push(frame);
		}
		matched.textContent = pattern === null ? " " :
			"matched " + (100 * sum(matches) / total).toFixed(2) + "%";
	}

	if (!frames.length)
		return;
	for (const frame of frames) {
		frame.g.addEventListener("click", () => zoom(frame));
		frame.g.addEventListener("mouseover", () => { details.textContent = frame.title; });
		frame.g.addEventListener("mouseout", () => { details.textContent = " "; });
	}
	reset.addEventListener("click", () => zoom(frames[0]));
	search.addEventListener("input", mark);
	document.addEventListener("keydown", function (event) {
		if (event.key === "Escape") {
			search.value = "";
			mark();
			zoom(frames[0]);
		} else if (event.key === "/" && document.activeElement !== search) {
			event.preventDefault();
			search.focus();
		}
	});
})();
