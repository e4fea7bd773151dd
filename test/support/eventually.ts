// The only places where a test lets time pass: until something is so, or while it stays so.
import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'

const LOOK_MS = 25
/** Between two looks at what is to stay: rarer, as each may cost the control plane a request. */
const WATCH_MS = 250

/**
 * Waits until the probe returns a value, and returns it. A probe that throws or returns undefined
 * has nothing yet, and is asked again.
 *
 * @throws Error that names what was awaited and what the last look gave, after `withinMs`
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

/** Waits until the assertion passes, in the same way. */
export async function eventuallyPasses(
  what: string,
  assertion: () => Promise<void> | void,
  bound: { readonly withinMs: number },
): Promise<void> {
  await eventually(what, async () => (await assertion(), true), bound)
}

/** Makes the assertion again and again for `forMs`, and fails with the first that does. */
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
