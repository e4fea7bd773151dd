// The note of the Event about a refused write, from the server's answer (contract 18.3, 19.8).
import type { JsonMap } from '../../domain/json/json.ts'
import type { StatusError } from '../../kube/client/api-error.ts'

/** The answers of etcd, of the API server's client of etcd, and of the API server to a body that is too large. */
const TOO_LARGE = /request is too large|message larger than max|request entity too large/i

/**
 * Why a cluster refuses a write, for an Event: not for logs.
 *
 * @param isHidden whether the answer may quote a value that is secret: then the note has only its code, its reason and a size
 * @param sent the object that was to be written; null = it was to be deleted
 */
export function refusalNote(error: StatusError, isHidden: boolean, sent: JsonMap | null): string {
  const { code, reason, message, words } = error
  const answer = isHidden
    ? `${code} ${reason}`.trimEnd()
    : [message, message.includes(words) ? '' : words].filter((part) => part !== '').join(': ')
  // The caller ends the sentence.
  const because = answer.replace(/\.$/, '')
  const isTooLarge = sent !== null && (code === 413 || TOO_LARGE.test(words))
  return isTooLarge ? `${because}; ${sizeNote(sent)}` : because
}

const sizeNote = (sent: JsonMap): string => {
  const bytes = Buffer.byteLength(JSON.stringify(sent))
  return `the object is too large: ${bytes} bytes of JSON, and etcd takes 1.5 MiB unless it is set otherwise`
}
