import { describe, expect, test } from 'vitest'
import { METRIC_HELP } from '../../../../src/api/metrics.ts'
import { REASONS } from '../../../../src/api/reasons.ts'
import { claimMetrics, countClaims } from '../../../../src/delivery/claims/metrics.ts'
import { claimOf } from '../../../../src/domain/claim/claim.ts'
import { instruments, processRegistry } from '../../../../src/runtime/metrics.ts'
import { claimObject } from '../../../support/object-builder.ts'
import { after, textAfter } from '../../../support/key-builder.ts'

const claim = (reason: string | null, nextRotation?: string) =>
  claimOf(
    claimObject({
      status: {
        ...(nextRotation === undefined ? {} : { nextRotation }),
        ...(reason === null
          ? {}
          : {
              conditions: [
                { type: 'Ready', status: 'False', reason, message: '', lastTransitionTime: '' },
              ],
            }),
      },
    }),
  )

describe('claims are counted (28.7)', () => {
  test('by state, and one without a status is pending', () => {
    const claims = ['Delivered', 'Delivered', 'KeyNotReady', null].map((reason) => claim(reason))
    expect(countClaims(claims, after(0)).byState).toEqual({
      delivered: 2,
      key_not_ready: 1,
      pending: 1,
    })
  })

  test('by how much the most overdue is late', () => {
    const claims = [10, 40, 100].map((at) => claim('Delivered', textAfter(at)))
    expect(countClaims(claims, after(70)).overdueSeconds).toBe(60)
    expect(countClaims(claims, after(5)).overdueSeconds).toBe(0)
    expect(countClaims([], after(5))).toEqual({ byState: {}, overdueSeconds: 0 })
  })
})

test('all states and causes are there from the start, and change with what is delivered (28.7)', async () => {
  const { registry, scrape } = processRegistry()
  const { claims, followClaims } = claimMetrics(instruments(registry, METRIC_HELP))
  const page = async () => (await scrape()).body
  const before = await page()
  for (const reason of REASONS.claimReady) {
    const state = reason.replaceAll(/(?<=[a-z])[A-Z]/g, '_$&').toLowerCase()
    expect(before).toContain(`platform_claims{state="${state}"} 0`)
  }
  expect(before).toContain('platform_claim_rotations_total{cause="due"} 0')
  expect(before).toContain('platform_claim_secrets_mended_total 0')
  followClaims(() => ({ byState: { delivered: 3 }, overdueSeconds: 7 }))
  claims.delivered('secret_changed', 1.2)
  claims.delivered('due', 0.4)
  const text = await page()
  for (const line of [
    'platform_claims{state="delivered"} 3',
    'platform_claims{state="pending"} 0',
    'platform_claim_rotation_overdue_seconds 7',
    'platform_claim_rotations_total{cause="secret_changed"} 1',
    'platform_claim_rotations_total{cause="due"} 1',
    'platform_claim_secrets_mended_total 1',
    'platform_claim_delivery_seconds_count 2',
    'platform_claim_delivery_seconds_bucket{le="0.5"} 1',
  ])
    expect(text).toContain(line)
})
