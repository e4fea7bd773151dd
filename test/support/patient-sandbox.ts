import { systemClock } from '../../src/runtime/clock.ts'
import { createSandbox } from '../../src/sync/sandbox/sandbox.ts'

/**
 * A sandbox for expressions that are not to overrun: on a busy machine 100 ms may be too short for any of them.
 *
 * @param wallMs how long one without an end takes
 */
export const createPatientSandbox = (wallMs = 20_000): ReturnType<typeof createSandbox> =>
  createSandbox(systemClock(), {
    wallMs,
    interruptMs: wallMs * 0.9,
    sliceMs: wallMs * 0.9,
  })
