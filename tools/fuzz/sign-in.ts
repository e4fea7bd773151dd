// What a sign-in provider sends (threats of part 25): the claims of a person.
import type { OidcProvider } from '../../src/api/config.gen.ts'
import { type JsonMap, ownValue, stringOf } from '../../src/domain/json/json.ts'
import { SignInRefused } from '../../src/domain/signin/refusals.ts'
import { boundedJsonMap } from '../../src/signin/providers/answers.ts'
import { identityOf } from '../../src/signin/providers/oidc/claims.ts'
import { type FuzzTarget, kindOf, mustHold, sizeClass } from './target.ts'

const SETTINGS: OidcProvider = { usernamePrefix: 'p:', allowedExtraClaims: ['dept', '__proto__'] }

type Identity = ReturnType<typeof identityOf>

/** A person has only what the claims say, each from its own claim. */
export const claimsTarget = (
  read: (claims: JsonMap, settings: OidcProvider) => Identity = identityOf,
): FuzzTarget => ({
  seeds: [
    '{"iss": "i", "sub": "s", "preferred_username": "ada", "groups": ["a", "a", ""]}',
    '{"iss": "i", "sub": "s", "email": "a@b.c", "email_verified": true, "groups": "a"}',
    '{"iss": "i", "sub": "s", "email": "a@b.c", "email_verified": "true", "dept": {"a": [1]}}',
    '{"iss": "i", "sub": "s", "_claim_names": {"groups": "src1"}, "name": "\\ud800"}',
    '{"iss": "i", "sub": 7, "__proto__": {"groups": ["a"]}}',
  ],
  // biome-ignore format: words
  words: ['{', '}', '[', ']', ':', ',', '"', '"iss"', '"sub"', '"email":', '"email_verified":', '"groups":', '"name":', '"dept":', '"preferred_username":', '"_claim_names":', '"__proto__":', '"a"', '""', 'true', 'false', 'null', '7', '\\ud800'],
  run: (text) => {
    const claims = boundedJsonMap(Buffer.from(text))
    if (claims === null) return 'no claims'
    try {
      return checked(claims, read(claims, SETTINGS))
    } catch (error) {
      if (error instanceof SignInRefused) return kindOf(error.message)
      throw error
    }
  },
})

function checked(claims: JsonMap, identity: Identity): string {
  const { subject, username, email, emailVerified, groups, extraClaims } = identity
  mustHold(
    'the subject is another',
    subject === `${stringOf(claims['iss'])}#${stringOf(claims['sub'])}`,
  )
  mustHold('the e-mail has another source', email === null || email === ownValue(claims, 'email'))
  const isVerified = email !== null && ownValue(claims, 'email_verified') === true
  mustHold('an e-mail counts as verified that is not', emailVerified === isVerified)
  const names = [ownValue(claims, 'preferred_username'), ...(isVerified ? [email] : [])]
  const isClaimed = names.some((name) => typeof name === 'string' && username === `p:${name}`)
  mustHold('the name has another source', username === null || isClaimed)
  const claimed = [ownValue(claims, 'groups') ?? []].flat()
  const isOwn = groups.every(({ name }) => name !== '' && claimed.includes(name))
  mustHold('a group has another source', isOwn)
  mustHold('a group is there twice', new Set(groups.map(({ name }) => name)).size === groups.length)
  const isAllowed = Object.keys(extraClaims).every(
    (name) => ['dept', '__proto__'].includes(name) && Object.hasOwn(claims, name),
  )
  mustHold('an extra claim is not allowed', isAllowed)
  return `${username === null ? 'nameless' : 'named'} ${isVerified} ${sizeClass(groups.length)} groups`
}
