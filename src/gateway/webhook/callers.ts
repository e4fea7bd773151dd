// The callers that may use the webhook: API servers with the token, or with a certificate of the client CA (contract 9.6).
import { hash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../runtime/clock.ts'
import type { HttpRequest } from '../../serving/http/request.ts'
import { credentialOf } from '../request/credential.ts'
import type { FollowedToken } from './caller-files.ts'

/** The parts of a request that name its caller. */
type CallerParts = Pick<HttpRequest, 'rawHeaders' | 'clientCertificate'>

/** Whether a request comes from a caller of the webhook. */
export type IsCaller = (request: CallerParts) => boolean

/**
 * Creates the check of callers. A request with a bearer is judged by that alone, one with several credentials has none:
 * another server might use the other one.
 */
export const webhookCallerCheck =
  (token: FollowedToken, clock: Pick<Clock, 'nowMs'>): IsCaller =>
  ({ rawHeaders, clientCertificate }) => {
    const credential = credentialOf(rawHeaders)
    if (credential.kind === 'bearer') return hasDigest(credential.token, token.digest())
    if (credential.kind === 'twice' || clientCertificate === null) return false
    return clock.nowMs() < clientCertificate.notAfterMs
  }

/** Compares digests: they have one length, and how many of their bytes agree tells nothing of the token. */
const hasDigest = (token: string, digest: Buffer | null): boolean =>
  digest !== null && timingSafeEqual(hash('sha256', token, 'buffer'), digest)
