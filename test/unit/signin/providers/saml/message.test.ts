/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import { verifiedMessage } from '../../../../../src/signin/providers/saml/message.ts'
import { NO_END } from '../../../../support/oidc/sign-in.ts'
import { type Change, changed, type Part, responseXml } from '../../../../support/saml/forger.ts'
import { forged } from '../../../../support/saml/sign-in.ts'

const ASSERTION = /<saml:Assertion .*<\/saml:Assertion>/s
const GRACE: Change = ['>ada-1<', '>grace-1<']
const FAILED: Change = ['status:Success', 'status:Responder']

/** Reads a right message whose signed bytes are others. */
const readWith = (parts: readonly Part[], bytes: readonly string[]) =>
  verifiedMessage(
    Buffer.from(forged({ parts })).toString('base64'),
    [],
    () => Promise.resolve(bytes),
    NO_END,
  )

const assertionOf = (...changes: readonly Change[]): string =>
  ASSERTION.exec(changed(responseXml(), changes))?.[0] ?? ''

const nameIn = async (message: ReturnType<typeof readWith>) => {
  const { assertion } = await message
  const subject = assertion.children.find(({ name }) => name === 'Subject')
  return subject?.children[0]?.text
}

describe('the person of a message', () => {
  test('is read from the signed bytes alone, whatever else came (25.6, SI)', async () => {
    expect(await nameIn(readWith(['Assertion'], [assertionOf(GRACE)]))).toBe('grace-1')
    const response = changed(responseXml(), [GRACE])
    expect(await nameIn(readWith(['Response'], [response]))).toBe('grace-1')
  })

  test('is read from the Response where that is signed, too (25.6, SI)', async () => {
    const bytes = [changed(responseXml(), [GRACE]), assertionOf()]
    expect(await nameIn(readWith(['Assertion', 'Response'], bytes))).toBe('grace-1')
  })

  test.each<{ name: string; parts: readonly Part[]; bytes: readonly string[] }>([
    { name: 'nothing', parts: ['Assertion'], bytes: [] },
    { name: 'a Response for the Assertion', parts: ['Assertion'], bytes: [responseXml()] },
    { name: 'an Assertion for the Response', parts: ['Response'], bytes: [assertionOf()] },
    {
      name: 'another element with an Assertion for the Response',
      parts: ['Response'],
      bytes: [`<x>${assertionOf()}</x>`],
    },
    {
      name: 'an Assertion of another namespace',
      parts: ['Assertion'],
      bytes: [assertionOf().replace('SAML:2.0:assertion', 'SAML:1.0:assertion')],
    },
    {
      name: 'a Response with two Assertions',
      parts: ['Response'],
      bytes: [changed(responseXml(), [['</samlp:Response>', `${assertionOf()}</samlp:Response>`]])],
    },
    {
      name: 'a Response without an Assertion',
      parts: ['Response'],
      bytes: [changed(responseXml(), [[ASSERTION, '']])],
    },
  ])('is refused where the signed bytes are $name (25.6, SI)', async ({ parts, bytes }) => {
    await expect(readWith(parts, bytes)).rejects.toMatchObject({ reason: 'provider_answer' })
  })

  test('is refused where the Status in the signed bytes is another (25.6, SI)', async () => {
    const refused = readWith(['Response'], [changed(responseXml(), [FAILED])])
    await expect(refused).rejects.toMatchObject({ reason: 'provider_refused' })
  })
})
