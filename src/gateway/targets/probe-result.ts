// What the probe of a target says about it, in clauses that quote neither the target's API server nor an address: the
// server knows the credential and could send it back.

import { CredentialRefused } from '../../kube/proxy/upstream.ts'
import { AddressRefused } from '../../runtime/address-guard.ts'
import type { ProbeResult } from './impersonation-probe.ts'

/**
 * The condition of a target after its probes. `unproven`: not tried yet. `failing` with `isTried`: requests are sent
 * all the same, since the fault may be over before the next probe; without, no request can succeed.
 */
export type TargetCondition =
  | { readonly kind: 'unproven' | 'ready' }
  | { readonly kind: 'failing'; readonly because: string; readonly isTried: boolean }

/** Codes of node:tls for a server whose certificate does not prove who it is. */
const UNTRUSTED: ReadonlySet<unknown> = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** Codes of node:dns for a name that leads nowhere. */
const UNRESOLVED: ReadonlySet<unknown> = new Set(['EAI_AGAIN', 'EAI_FAIL', 'ENODATA', 'ENOTFOUND'])

/** The clauses of all faults besides a refused address. */
export const PROBE_FAULTS = {
  untrusted: 'the certificate of its API server is not trusted',
  refused: 'its API server refuses the credential of the kubeconfig',
  powerless: 'the credential of the kubeconfig may not impersonate there',
  unresolved: 'the name of its API server cannot be resolved',
  unreachable: 'its API server cannot be reached',
  unexpected: 'its server does not answer like an API server',
} as const

/** The condition after a probe. */
export function conditionOf(finding: ProbeResult): TargetCondition {
  if (finding.kind === 'allowed') return { kind: 'ready' }
  if (finding.kind === 'refused') return useless(PROBE_FAULTS.powerless)
  if (!finding.cause) return tried(PROBE_FAULTS.unexpected)
  const causes = causesOf(finding.cause)
  const codes = causes.map((cause) => ('code' in cause ? cause.code : null))
  const address = causes.find((cause) => cause instanceof AddressRefused)
  if (address) return useless(`the address of the API server ${address.fault}`)
  if (causes.some((cause) => cause instanceof CredentialRefused))
    return useless(PROBE_FAULTS.refused)
  if (codes.some((code) => UNTRUSTED.has(code))) return useless(PROBE_FAULTS.untrusted)
  const isUnresolved = codes.some((code) => UNRESOLVED.has(code))
  return tried(isUnresolved ? PROBE_FAULTS.unresolved : PROBE_FAULTS.unreachable)
}

const useless = (because: string): TargetCondition => ({
  kind: 'failing',
  because,
  isTried: false,
})

const tried = (because: string): TargetCondition => ({ kind: 'failing', because, isTried: true })

/** The error and its causes. */
const causesOf = (error: Error): readonly Error[] =>
  error.cause instanceof Error ? [error, ...causesOf(error.cause)] : [error]
