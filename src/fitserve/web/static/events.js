// News from the server, over one WebSocket per tab. It says what this tab shows; it gets what the tab lacks.
import { tab } from "./api.js";
import { store } from "./store.js";
import { language } from "./texts.js";

const LONGEST_WAIT_MS = 1000; // the server keeps an answer for five seconds after the line tore
let socket = null;
let wait = 200;
let again = 0;
let watched = "";
let handlers = {};

export function listen(to) {
  handlers = to;
  connect();
}

export function watch(id) {
  watched = id;
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ watch: id }));
}

// Whether news of this chat is for what the tab shows.
export const watching = (id) => id === watched;

function connect() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  socket = new WebSocket(`${scheme}://${location.host}/api/events?tab=${tab}&language=${language}`);
  socket.onopen = () => {
    wait = 200;
    store.set({ connected: true });
    watch(watched);
    handlers.open();
  };
  socket.onmessage = ({ data }) => {
    const news = JSON.parse(data);
    handlers[news.event]?.(news);
  };
  socket.onclose = () => {
    store.set({ connected: false });
    again = setTimeout(connect, wait);
    wait = Math.min(LONGEST_WAIT_MS, wait * 2);
  };
}

// A page that comes back from the browser's cache, or a laptop that wakes up, need not wait for the next try.
for (const name of ["online", "pageshow"]) {
  addEventListener(name, () => {
    if (socket?.readyState !== WebSocket.CLOSED) return;
    clearTimeout(again);
    connect();
  });
}

// A line that broke while the machine slept looks open until something is sent; what is sent brings the newest state.
addEventListener("visibilitychange", () => document.hidden || watch(watched));
