// Whom a verified Response names (contract 24.3, 25.6 "saml"). Pure.
import type { SamlProvider } from '../../../api/config.gen.ts'
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import {
  groupsUnreadable,
  groupsWithoutTitle,
  listedGroups,
  MOST_GROUPS,
  requireGroup,
} from '../groups.ts'
import type { ProviderIdentity } from '../provider.ts'
import { LONGEST_TEXT } from '../answers.ts'
import { issuerOf, nameIdOf } from './assertion-rules.ts'
import { attributeText, attributeValues } from './attributes.ts'
import { wholeText } from './elements.ts'
import type { SamlMessage } from './message.ts'
import type { XmlElement } from './xml.ts'

/**
 * Who has signed in.
 *
 * @param message one that has passed every rule
 * @throws SignInRefused whose cause names settings, never values of the provider
 */
export function identityOf(message: SamlMessage, settings: SamlProvider): ProviderIdentity {
  const { assertion } = message
  const nameIdElement = nameIdOf(message)
  const nameId = (nameIdElement && wholeText(nameIdElement)) ?? ''
  const username = settings.usernameAttr
    ? attributeText(assertion, settings.usernameAttr, 'usernameAttr')
    : nameId
  return {
    subject: `${issuerOf(assertion) ?? ''}#${nameId}`,
    username,
    displayName: null,
    email: settings.emailAttr ? attributeText(assertion, settings.emailAttr, 'emailAttr') : null,
    // SAML has no statement that says so.
    emailVerified: false,
    userId: nameId,
    preferredUsername: username,
    extraClaims: {},
    groups: groupsWithoutTitle(groupsIn(assertion, settings)),
    groupsPrefix: '',
    tokens: { refreshToken: null, accessToken: null, idToken: null },
  }
}

/** The names of the groups, each once. */
function groupsIn(assertion: XmlElement, settings: SamlProvider): readonly string[] {
  const { groupsAttr, groupsDelim, allowedGroups, filterGroups } = settings
  const values = groupsAttr ? attributeValues(assertion, groupsAttr, 'groupsAttr') : []
  if (groupsDelim && values.length > 1)
    throw new SignInRefused(
      'provider_answer',
      'the attribute of groupsAttr must have one value where groupsDelim is set',
    )
  const names = groupsDelim ? values.flatMap((value) => value.split(groupsDelim)) : values
  const groups = distinctGroups(names)
  requireGroup(groups, allowedGroups, 'allowedGroups')
  return filterGroups === true ? listedGroups(groups, allowedGroups) : groups
}

/** The names, each once; empty ones are none. */
function distinctGroups(names: readonly string[]): readonly string[] {
  if (names.length > MOST_GROUPS)
    throw groupsUnreadable(`the attribute of groupsAttr has more than ${MOST_GROUPS} groups`)
  if (names.some((name) => name.length > LONGEST_TEXT))
    throw new SignInRefused(
      'provider_answer',
      `the attribute of groupsAttr has a group of more than ${LONGEST_TEXT} characters`,
    )
  return [...new Set(names.filter((name) => name !== ''))]
}
