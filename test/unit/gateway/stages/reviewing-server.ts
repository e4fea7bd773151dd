// An API server that answers every request alike, such as reviews of who may ask a path, and lists what it was sent.
import { Readable } from 'node:stream'
import type { Upstream } from '../../../../src/kube/proxy/types.ts'

/** The requests of the test; tables of tests hold servers before it begins, so it is always the same list. */
export const sent: Parameters<Upstream['send']>[0][] = []

/** To be called before each test: files share this module. */
export function forgetSent(): void {
  sent.length = 0
}

/** Answers every request with this. */
export const answering =
  (status: number, body: string): Upstream['send'] =>
  async (call) => {
    sent.push(call)
    return { status, headers: {}, body: Readable.from([Buffer.from(body)]) }
  }

/** Answers every review with this. */
export const reviewed = (allowed: boolean): Upstream['send'] =>
  answering(201, JSON.stringify({ kind: 'SelfSubjectAccessReview', status: { allowed } }))
