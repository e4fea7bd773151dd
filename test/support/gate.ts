import type { QueueGate } from '../../src/kube/controller/work-queue.ts'

/** Lets everything through, always. */
export const OPEN: QueueGate = {
  admit: () => 'freely',
  probed: () => undefined,
  whenOpen: () => undefined,
}
