/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import { samlSignIn } from '../../../../support/saml/sign-in.ts'

describe('a message', () => {
  test.each([[['Assertion']], [['Response']], [['Assertion', 'Response']]] as const)(
    'signs in where %j is signed (25.6)',
    async (parts) => {
      expect(await samlSignIn({ parts })).toMatchObject({
        subject: 'https://idp.example.com/saml#ada-1',
        username: 'ada-1',
      })
    },
  )
})
