// The attributes of an Assertion (SAML Core 2.7.3). Pure.
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { LONGEST_TEXT } from '../answers.ts'
import { ASSERTION, childrenOf, wholeText } from './elements.ts'
import type { XmlElement } from './xml.ts'

/**
 * The values of an attribute, by its Name, else by its FriendlyName; empty texts are none.
 *
 * @param setting the field that names the attribute, for messages
 * @returns empty = the attribute is not there
 * @throws SignInRefused `provider_answer` for a value that is not a text
 */
export function attributeValues(
  assertion: XmlElement,
  name: string,
  setting: string,
): readonly string[] {
  const all = childrenOf(assertion, ASSERTION, 'AttributeStatement').flatMap((statement) =>
    childrenOf(statement, ASSERTION, 'Attribute'),
  )
  const named = (by: 'Name' | 'FriendlyName'): readonly XmlElement[] =>
    all.filter(({ attributes }) => attributes.get(by) === name)
  const byName = named('Name')
  const found = byName.length > 0 ? byName : named('FriendlyName')
  return found
    .flatMap((attribute) => childrenOf(attribute, ASSERTION, 'AttributeValue'))
    .map((value) => {
      const text = wholeText(value)
      if (text === null)
        throw new SignInRefused('provider_answer', `the attribute of ${setting} must be a text`)
      return text
    })
    .filter((text) => text !== '')
}

/**
 * The one value of an attribute; null = it is not there.
 *
 * @throws SignInRefused `provider_answer` for several values, or a long one
 */
export function attributeText(assertion: XmlElement, name: string, setting: string): string | null {
  const [value = null, ...others] = attributeValues(assertion, name, setting)
  if (others.length > 0 || (value?.length ?? 0) > LONGEST_TEXT)
    throw new SignInRefused(
      'provider_answer',
      `the attribute of ${setting} must have one value of at most ${LONGEST_TEXT} characters`,
    )
  return value
}
