// Answers of the routes, and the headers that all of them have (contract 25.2).
import type { OutgoingHttpHeaders } from 'node:http'
import type { UiSettings } from '../api/config.gen.ts'
import { SIGN_IN_OUTCOME_HEADER } from '../api/names.ts'
import { headerName, headerValue } from '../domain/settings/formats.ts'
import { type SignInOutcome, outcomeHeader } from '../domain/signin/outcome.ts'
import type { BufferedAnswer } from '../serving/http/answer.ts'
import { type SignInPage, renderPage } from './pages/layout.ts'

/** What a route answers. */
export interface RouteAnswer {
  readonly status: number
  readonly content:
    | { readonly page: SignInPage }
    | { readonly json: object }
    | { readonly location: string }
  /** Values of `Set-Cookie`. */
  readonly cookies?: readonly string[]
  readonly headers?: OutgoingHttpHeaders
}

/** The settings that shape every answer. */
export interface AnswerSettings {
  readonly ui: UiSettings
  readonly customHttpHeaders: Readonly<Record<string, string>>
}

const HEADERS: OutgoingHttpHeaders = {
  'cache-control': 'no-store',
  'strict-transport-security': 'max-age=31536000',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}
const NO_CONTENT_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"

/** The answer as it is sent. @param outcome null = the request was no attempt */
export function sentAnswer(
  { status, content, cookies = [], headers = {} }: RouteAnswer,
  { ui, customHttpHeaders }: AnswerSettings,
  outcome: SignInOutcome | null,
): BufferedAnswer {
  const { type, text, policy } = bodyOf(content, ui)
  const custom = Object.entries(customHttpHeaders).filter(
    ([name, value]) => isCustomHeader(name) && headerValue(value) === null,
  )
  return {
    status,
    headers: {
      ...Object.fromEntries(custom),
      ...HEADERS,
      'content-security-policy': policy,
      ...(type === null ? {} : { 'content-type': type }),
      ...('location' in content ? { location: content.location } : {}),
      ...(cookies.length === 0 ? {} : { 'set-cookie': [...cookies] }),
      ...headers,
      ...(outcome === null ? {} : { [SIGN_IN_OUTCOME_HEADER]: outcomeHeader(outcome) }),
    },
    body: Buffer.from(text),
  }
}

interface SentContent {
  /** null = the answer has no body. */
  readonly type: string | null
  readonly text: string
  readonly policy: string
}

function bodyOf(content: RouteAnswer['content'], ui: UiSettings): SentContent {
  if ('location' in content) return { type: null, text: '', policy: NO_CONTENT_POLICY }
  if ('json' in content) {
    const text = `${JSON.stringify(content.json)}\n`
    return { type: 'application/json', text, policy: NO_CONTENT_POLICY }
  }
  const { text, contentSecurityPolicy: policy } = renderPage(content.page, ui)
  return { type: 'text/html; charset=utf-8', text, policy }
}

/** Headers that frame a message, that these answers have themselves, or that decide how browsers treat the pages. */
const FIXED =
  /^(?:content-.*|set-cookie|location|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|x-platform-.*|x-request-id|audit-id|date|allow|retry-after|cache-control|strict-transport-security|x-content-type-options|referrer-policy)$/i

/** Whether customHttpHeaders may set the header. */
export const isCustomHeader = (name: string): boolean =>
  headerName(name) === null && !FIXED.test(name)
