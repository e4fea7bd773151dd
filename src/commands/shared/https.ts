// HTTPS requests of a command line tool to the platform, bounded in time and size; they follow no redirect.
import { X509Certificate } from 'node:crypto'
import { request } from 'node:https'
import { rootCertificates, type TLSSocket } from 'node:tls'
import { MANAGEMENT_PATH, SELF_SUBJECT_REVIEWS as REVIEWS, apiVersionOf } from '../../api/names.ts'
import { fieldsOf, parseJson } from '../../domain/json/json.ts'
import { pathOf } from '../../kube/client/client.ts'

/** An answer, and the certificate of its server. */
interface HttpsAnswer {
  readonly status: number
  readonly body: string
  /** End of the server's certificate, as in the certificate. */
  readonly validTo: string
}

/** A request. */
interface HttpsCall {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  /** The access key that it carries; absent = no credential. */
  readonly bearer?: string
  /** JSON; absent = none. */
  readonly body?: string
  /** Time until the whole answer has arrived, in seconds; absent = 5. */
  readonly withinSeconds?: number
}

/** Sends a request. @throws Error with the code of the cause, for no answer in time, or one that is too large */
export type SendHttps = (url: string, call?: HttpsCall) => Promise<HttpsAnswer>

const WITHIN_SECONDS = 5
const MOST_BYTES = 256 * 1024

/** A sender that trusts the CAs of Node, and this one. @param ca PEM; null = no other */
export const httpsSender =
  (ca: string | null): SendHttps =>
  (url, { method = 'GET', bearer, body, withinSeconds = WITHIN_SECONDS } = {}) =>
    new Promise((resolve, rejectWith) => {
      const signal = AbortSignal.timeout(withinSeconds * 1000)
      const reject = (error: Error): void =>
        rejectWith(signal.aborted ? new Error(`no answer within ${withinSeconds} s`) : error)
      const sent = request(url, {
        method,
        agent: false,
        signal,
        ca: ca === null ? [...rootCertificates] : [...rootCertificates, ca],
        headers: {
          accept: 'application/json',
          ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
      })
      sent.once('response', (response) => {
        const validTo = (response.socket as TLSSocket).getPeerX509Certificate()?.validTo ?? ''
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          text += chunk
          if (text.length > MOST_BYTES) response.destroy(new Error('the answer is too large'))
        })
        response.once('error', reject)
        response.once('end', () =>
          resolve({ status: response.statusCode ?? 0, body: text, validTo }),
        )
      })
      sent.once('error', reject)
      sent.end(body)
    })

/** The path where the platform says whom it sees behind a key. */
export const SELF_REVIEW_PATH = `${MANAGEMENT_PATH}${pathOf(REVIEWS, {})}`

/** The request for it, with that key. */
export const selfReviewCall = (bearer: string): HttpsCall => ({
  method: 'POST',
  bearer,
  body: JSON.stringify({ apiVersion: apiVersionOf(REVIEWS), kind: REVIEWS.kind }),
})

/** The user info in its answer with status 201, with unchecked values; empty when it has none. */
export const userInfoIn = (body: string): Readonly<Record<string, unknown>> =>
  fieldsOf(fieldsOf(fieldsOf(parseJson(body))['status'])['userInfo'])

/** Whether a text is PEM that begins with a certificate. @param pem null = there is none */
export function isCertificate(pem: string | null): boolean {
  try {
    return pem !== null && new X509Certificate(pem).subject !== null
  } catch {
    return false
  }
}
