import type { Gate } from '../../src/kube/queue.ts'

/** Lets everything through, always. */
export const OPEN: Gate = {
  admit: () => 'freely',
  probed: () => undefined,
  whenOpen: () => undefined,
}
