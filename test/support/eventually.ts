// Waits until a condition holds, or checks that it stays true: the only places where tests wait.
import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'

const LOOK_MS = 25
/** Interval of checks that something stays true: longer, as each may cost the control plane a request. */
const WATCH_MS = 250

/**
 * Waits until the probe returns a value, and returns it. A probe that throws or returns undefined
 * is called again.
 *
 * @throws Error with what it waited for and the last result, after `withinMs`
 */
export async function eventually<T extends {} | null>(
  what: string,
  probe: () => Promise<T | undefined> | T | undefined,
  { withinMs }: { readonly withinMs: number },
): Promise<T> {
  const deadlineMs = performance.now() + withinMs
  for (;;) {
    const { value, seen, cause } = await look(probe)
    if (value !== undefined) return value
    if (performance.now() >= deadlineMs) {
      throw new Error(`${what}: not within ${withinMs} ms; last seen: ${seen}`, { cause })
    }
    await delay(LOOK_MS)
  }
}

/** The same for an assertion: waits until it passes. */
export async function eventuallyPasses(
  what: string,
  assertion: () => Promise<void> | void,
  bound: { readonly withinMs: number },
): Promise<void> {
  await eventually(what, async () => (await assertion(), true), bound)
}

/** Repeats the assertion for `forMs`, and fails with its first failure. */
export async function staysTrue(
  what: string,
  assertion: () => Promise<void> | void,
  { forMs }: { readonly forMs: number },
): Promise<void> {
  const startMs = performance.now()
  do {
    try {
      await assertion()
    } catch (cause) {
      const afterMs = Math.round(performance.now() - startMs)
      throw new Error(`${what}: no longer so after ${afterMs} ms: ${messageOf(cause)}`, { cause })
    }
    await delay(WATCH_MS)
  } while (performance.now() - startMs < forMs)
}

async function look<T>(
  probe: () => Promise<T | undefined> | T | undefined,
): Promise<{ readonly value: T | undefined; readonly seen: string; readonly cause?: unknown }> {
  try {
    const value = await probe()
    return { value, seen: inspect(value) }
  } catch (cause) {
    return { value: undefined, seen: messageOf(cause), cause }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : inspect(error)
}
