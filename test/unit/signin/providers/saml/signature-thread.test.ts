import { createPublicKey } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type Clock, systemClock } from '../../../../../src/runtime/clock.ts'
import { createSignatureThread } from '../../../../../src/signin/providers/saml/signature-thread.ts'
import { NO_END } from '../../../../support/oidc/sign-in.ts'
import { ENVELOPED, type Signing } from '../../../../support/saml/forger.ts'
import { samlKey, sharedSamlKey } from '../../../../support/saml/keys.ts'
import { bringBack, forged, samlSignIn, usualProvider } from '../../../../support/saml/sign-in.ts'

const request = (xml = forged()) => ({
  xml,
  parts: ['Assertion'] as const,
  keys: [sharedSamlKey('P-256'), sharedSamlKey(2048)].map(({ privateKey }) =>
    createPublicKey(privateKey),
  ),
})

const PARTS = ['Assertion', 'Response'] as const

/** A clock whose two seconds of a verification are over at once, as often as a test says. */
function hurriedClock(times: number): Clock {
  const clock = systemClock()
  let left = times
  return {
    ...clock,
    schedule: (delayMs, callback) => {
      const isHurried = delayMs === 2000 && left > 0
      if (isHurried) left -= 1
      return clock.schedule(isHurried ? 0 : delayMs, callback)
    },
  }
}

describe('a signature that reaches the thread', () => {
  const because = 'a signature is not of a certificate in the settings, or of another content'
  const DSIG = 'http://www.w3.org/2000/09/xmldsig#'
  const INCLUSIVE = 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315'
  test.each<{ name: string; signing: Signing }>([
    { name: 'with a digest of SHA-1', signing: { digest: `${DSIG}sha1` } },
    { name: 'by RSA with SHA-1', signing: { key: sharedSamlKey(2048), method: `${DSIG}rsa-sha1` } },
    { name: 'by an HMAC', signing: { method: `${DSIG}hmac-sha1` } },
    { name: 'with inclusive canonicalization', signing: { canonicalization: INCLUSIVE } },
    { name: 'with an inclusive transform', signing: { transforms: [ENVELOPED, INCLUSIVE] } },
    {
      name: 'with two References',
      signing: { references: ["//*[local-name(.)='Assertion']", "//*[local-name(.)='Subject']"] },
    },
    { name: 'of a foreign key, which it brings', signing: { key: samlKey('P-256') } },
    { name: 'of a key that is RSA, as ECDSA', signing: { key: sharedSamlKey(2048) } },
  ])('$name is refused, whatever was checked before (25.6, SI)', async ({ signing }) => {
    const verify = createSignatureThread(systemClock(), NO_END)
    await expect(verify(request(forged({ signing })), NO_END)).rejects.toMatchObject({ because })
  })
})

describe('the thread that verifies signatures', () => {
  test('answers the signed bytes alone (25.6)', async () => {
    const verify = createSignatureThread(systemClock(), NO_END)
    const [bytes = '', ...others] = await verify(request(), NO_END)
    expect(others).toEqual([])
    expect(bytes).toMatch(/^<saml:Assertion .*<\/saml:Assertion>$/s)
    expect(bytes).not.toContain('Signature')
  })

  test('is ended after two seconds, and the next message gets another (25.6, SI)', async () => {
    const verify = createSignatureThread(hurriedClock(1), NO_END)
    const both = { ...request(forged({ parts: ['Assertion', 'Response'] })), parts: PARTS }
    const [late, next] = [verify(both, NO_END), verify(request(), NO_END)]
    await expect(late).rejects.toMatchObject({
      reason: 'provider_answer',
      because: 'a signature was not verified within two seconds',
    })
    // An answer of the thread before would have two.
    expect(await next).toHaveLength(1)
  })

  test('does not begin for a caller that has gone (25.6)', async () => {
    const verify = createSignatureThread(systemClock(), NO_END)
    const gone = AbortSignal.abort()
    await expect(verify(request(), gone)).rejects.toMatchObject({ because: 'the caller has gone' })
    expect(await verify(request(), NO_END)).toHaveLength(1)
  })

  test('ends with the process, and when nobody has come for half a minute (25.6)', async () => {
    const idle: (() => void)[] = []
    let cancelled = 0
    const clock = systemClock()
    const kept: Clock = {
      ...clock,
      schedule: (delayMs, callback) => {
        if (delayMs !== 30_000) return clock.schedule(delayMs, callback)
        idle.push(callback)
        return () => (cancelled += 1)
      },
    }
    const stopping = new AbortController()
    const verify = createSignatureThread(kept, stopping.signal)
    await verify(request(), NO_END)
    for (const end of idle) end()
    expect(await verify(request(), NO_END)).toHaveLength(1)
    expect([idle.length, cancelled]).toEqual([2, 2])
    stopping.abort()
    // No timer is left that would keep the process, and no thread starts.
    expect(cancelled).toBe(3)
    await expect(verify(request(), NO_END)).rejects.toMatchObject({ reason: 'provider_answer' })
    expect(idle).toHaveLength(2)
  })

  test('ends with a process that stops while the thread starts (25.6)', async () => {
    const scheduled: number[] = []
    const clock = systemClock()
    const noted: Clock = {
      ...clock,
      schedule: (delayMs, callback) => {
        scheduled.push(delayMs)
        // It is stopping when the thread has begun to start.
        if (delayMs === 10_000) stopping.abort()
        return clock.schedule(delayMs, callback)
      },
    }
    const stopping = new AbortController()
    const verify = createSignatureThread(noted, stopping.signal)
    await expect(verify(request(), NO_END)).rejects.toMatchObject({ reason: 'provider_answer' })
    // No time of a verification, and none for which the thread is kept.
    expect(scheduled).toEqual([10_000])
  })

  test('has no document that breaks the bounds, and others are served meanwhile (25.6, SI)', async () => {
    const flood = forged({
      tampered: (xml) => xml.replace('</saml:Subject>', `</saml:Subject>${'<x/>'.repeat(20_000)}`),
    })
    expect(flood.length).toBeGreaterThan(80_000)
    // The thread is there already.
    await samlSignIn()
    const beganMs = performance.now()
    const floods = Array.from({ length: 10 }, () => bringBack(flood, usualProvider()).catch(String))
    expect(await samlSignIn()).toMatchObject({ userId: 'ada-1' })
    expect(new Set(await Promise.all(floods))).toEqual(
      new Set(['SignInRefused: provider_answer: the XML has more than 2000 elements']),
    )
    const tookMs = performance.now() - beganMs
    const peerMs = performance.now()
    for (const _ of floods) await samlSignIn()
    // As many sign-ins take twice as long.
    expect(tookMs).toBeLessThan(5 * (performance.now() - peerMs))
  })
})
