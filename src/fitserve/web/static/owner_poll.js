// Asks again and again while somebody looks; a hidden tab asks nothing.
import { useEffect, useState } from "./view.js";

export function usePolled(load, everyMs, key) {
  const [told, setTold] = useState({ value: null, problem: null });
  useEffect(() => {
    let ended = false;
    let again = 0;
    const look = async () => {
      clearTimeout(again);
      if (!document.hidden) {
        try {
          const value = await load();
          if (!ended) setTold({ value, problem: null });
        } catch (problem) {
          if (!ended) setTold({ value: problem.code === "owner_key" ? null : told.value, problem });
        }
      }
      if (!ended) again = setTimeout(look, everyMs);
    };
    const woken = () => { if (!document.hidden) look(); };
    document.addEventListener("visibilitychange", woken);
    look();
    return () => {
      ended = true;
      clearTimeout(again);
      document.removeEventListener("visibilitychange", woken);
    };
  }, [key]);
  return told;
}
