// The tables of docs/ about answers that refuse a request, from the catalogues of the program.
import { AUDIT_ERRORS } from '../../src/gateway/audit/errors.ts'
import { TOKEN_ERRORS } from '../../src/gateway/direct-errors.ts'
import { ERRORS } from '../../src/gateway/errors.ts'
import { AMBIGUITY_ERRORS } from '../../src/gateway/request/errors.ts'
import { SELF_SERVICE_ERRORS } from '../../src/gateway/selfservice/errors.ts'
import { WEBHOOK_ERRORS } from '../../src/gateway/webhook/errors.ts'
import { SIGN_IN_REFUSALS } from '../../src/domain/signin/refusals.ts'
import { SIGN_IN_ERRORS } from '../../src/gateway/signin/errors.ts'
import type { Refusal } from '../../src/serving/http/answer.ts'
import { MALFORMED_REQUESTS } from '../../src/serving/http/malformed-requests.ts'

/** The refusals of any request, as the documentation orders them. */
const OF_ANY_REQUEST: readonly Refusal[] = [
  ...Object.values(ERRORS),
  ...Object.values(AMBIGUITY_ERRORS),
  ...Object.values(AUDIT_ERRORS),
  ...Object.values(SIGN_IN_ERRORS),
  ...Object.values(MALFORMED_REQUESTS),
]

const OF_SELF_SERVICE: readonly Refusal[] = Object.values(SELF_SERVICE_ERRORS)

/** Every refusal that the gateway gives by itself. */
export const REFUSALS: readonly Refusal[] = [...OF_ANY_REQUEST, ...OF_SELF_SERVICE]

/** docs/gateway.md: each answer to any request and why it is given. */
export const answersTable = (): string => reasonsTable(OF_ANY_REQUEST)

/** docs/gateway.md: the same for requests about keys, tokens and Configs. */
export const selfServiceAnswersTable = (): string => reasonsTable(OF_SELF_SERVICE)

const reasonsTable = (refusals: readonly Refusal[]): string =>
  [
    '| code | message | because |',
    '|---|---|---|',
    ...rowsOf(refusals, ({ because }) => because),
  ].join('\n')

const OF_TOKENS: readonly Refusal[] = Object.values(TOKEN_ERRORS)
const OF_WEBHOOK: readonly Refusal[] = Object.values(WEBHOOK_ERRORS)

/** docs/direct-endpoint.md: the answers about a token that only a direct endpoint gives. */
export const tokenAnswersTable = (): string => reasonsTable(OF_TOKENS)

/** docs/direct-webhook.md: the answers of the webhook other than decisions. */
export const webhookAnswersTable = (): string => reasonsTable(OF_WEBHOOK)

/** docs/troubleshooting.md: the answers of a gateway that an administrator acts on, and how. */
export const remediesTable = (): string => remediesOf(REFUSALS)

/** docs/troubleshooting.md: the same of a direct endpoint and its webhook. */
export const directRemediesTable = (): string => remediesOf([...OF_TOKENS, ...OF_WEBHOOK])

const remediesOf = (refusals: readonly Refusal[]): string =>
  [
    '| code | message | what to do |',
    '|---|---|---|',
    ...rowsOf(
      refusals.filter(({ remedy }) => remedy !== undefined),
      ({ remedy = '' }) => remedy,
    ),
  ].join('\n')

/** docs/sign-in: each refusal of the sign-in process, when it is given, and what an administrator does. */
export const signInRefusalsTable = (): string =>
  [
    '| reason | code | the person reads | because | an administrator |',
    '|---|---|---|---|---|',
    ...Object.entries(SIGN_IN_REFUSALS).map(
      ([reason, { code, text, because, remedy }]) =>
        `| \`${reason}\` | ${code} | ${text} | ${because} | ${remedy === '' ? 'has nothing to do' : remedy} |`,
    ),
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
