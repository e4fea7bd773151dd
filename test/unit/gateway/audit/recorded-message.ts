// A body as its copy has it, and the context in which it is recorded.
import { requestFor } from '../../domain/audit/bodies/recorded.ts'

/** A create of Secrets. */
export const RECORD_CONTEXT = {
  request: requestFor('/secrets', 'create'),
  code: null,
  limit: 1024 ** 2,
}

/** The copy of a body. */
export const messageOf = (text: string, contentType = 'application/json') => ({
  body: { bytes: Buffer.from(text) },
  contentType,
  contentEncoding: undefined,
})
