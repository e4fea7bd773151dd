// A gateway with its audit log in memory, and ways to be refused by it.
import { Readable } from 'node:stream'
import type { AuditPolicyRule } from '../../../../src/api/config.gen.ts'
import { ERRORS } from '../../../../src/gateway/errors.ts'
import type { GatewayHandlerOptions } from '../../../../src/gateway/handler.ts'
import { refuse } from '../../../../src/serving/http/answer.ts'
import { manualClock } from '../../../support/manual-clock.ts'
import { CALLER, handlerFor } from '../handler-builder.ts'
import { memoryAudit } from './memory-audit.ts'

export const t0 = Date.parse('2026-11-28T10:00:00Z')
export const PODS = '/kubernetes/management/api/v1/namespaces/shop/pods'
export const METADATA: readonly AuditPolicyRule[] = [{ level: 'Metadata' }]

/** A gateway whose API server answers 200, with its audit log in memory. */
export function auditedGateway(
  rules: readonly AuditPolicyRule[] = METADATA,
  given: Partial<GatewayHandlerOptions> = {},
) {
  const clock = manualClock(t0)
  const log = memoryAudit({ policy: { rules } }, clock)
  const sent: string[] = []
  const respond = handlerFor(
    CALLER,
    async ({ method, path }) => {
      sent.push(`${method} ${path}`)
      return { status: 200, headers: {}, body: Readable.from([Buffer.from('{}')]) }
    },
    { audit: log.audit, ...given },
  )
  return { ...log, clock, sent, respond }
}

export const refusedAs =
  (because: string, answer = ERRORS.keyNotFound): GatewayHandlerOptions['authenticate'] =>
  async () => ({ ok: false, answer: refuse(answer), refusal: { because, key: null } })

export const OWN_KEYS = '/kubernetes/management/apis/management.platform.sh/v1/ownedaccesskeys'

/** Self-service crashes. */
export const CRASHING: Partial<GatewayHandlerOptions> = {
  selfService: {
    answer: async () => Promise.reject(new Error('broken')),
    rights: () => ({ reasonFor: async () => null, rules: [] }),
  },
}
