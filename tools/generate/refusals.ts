// The tables of docs/ about answers that refuse a request, from the catalogues of the program.
import { ERRORS } from '../../src/gateway/errors.ts'
import type { Refusal } from '../../src/serving/http/answer.ts'
import { MALFORMED_REQUESTS } from '../../src/serving/http/malformed-requests.ts'

/** Every refusal that the gateway gives by itself, but for those of self-service, as the documentation orders them. */
export const REFUSALS: readonly Refusal[] = [
  ...Object.values(ERRORS),
  ...Object.values(MALFORMED_REQUESTS),
]

/** Two refusals of self-service that an administrator acts on. */
const OF_SELF_SERVICE = [
  "| 503 | `this gateway has not listed the tokens yet, try again` | nothing, if it has just started. Otherwise log line `watch failed, trying again` says why it can't list them |",
  '| 504 | `no token was issued within …` | the message says what the token waited for. If it says nothing, check that a manager leads |',
]

/** docs/gateway.md: each answer and why it is given. */
export const answersTable = (): string =>
  [
    '| code | message | because |',
    '|---|---|---|',
    ...rowsOf(REFUSALS, ({ because }) => because),
  ].join('\n')

/** docs/troubleshooting.md: the answers that an administrator acts on, and how. */
export const remediesTable = (): string =>
  [
    '| code | message | what to do |',
    '|---|---|---|',
    ...rowsOf(
      REFUSALS.filter(({ remedy }) => remedy !== undefined),
      ({ remedy = '' }) => remedy,
    ),
    ...OF_SELF_SERVICE,
  ].join('\n')

/** A message as the tables have it. */
export const shownMessage = ({ message, shown = message }: Refusal): string => `\`${shown}\``

/** One row for neighbours with one code and one text. */
function rowsOf(
  refusals: readonly Refusal[],
  text: (refusal: Refusal) => string,
): readonly string[] {
  const rows: { readonly refusal: Refusal; readonly messages: string[] }[] = []
  for (const refusal of refusals) {
    const row = rows.at(-1)
    const isSame = row?.refusal.code === refusal.code && text(refusal) !== ''
    if (row && isSame && text(row.refusal) === text(refusal))
      row.messages.push(shownMessage(refusal))
    else rows.push({ refusal, messages: [shownMessage(refusal)] })
  }
  return rows.map(
    ({ refusal, messages }) =>
      `| ${refusal.code} | ${messages.join(', ')} | ${text(refusal) === '' ? '' : `${text(refusal)} `}|`,
  )
}
