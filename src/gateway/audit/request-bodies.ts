// The bodies of one request, for its record (contract 21.4).
import type { OutgoingHttpHeaders } from 'node:http'
import { GROUP } from '../../api/names.ts'
import {
  type CopiedBody,
  type CopiedMessage,
  createdName,
} from '../../domain/audit/bodies/parsed-body.ts'
import type { RecordedBody } from '../../domain/audit/event.ts'
import type { AuditDecision, AuditedRequest } from '../../domain/audit/policy.ts'
import type { Answer } from '../../serving/http/answer.ts'
import type { HttpRequest } from '../../serving/http/request.ts'
import { hasBody } from '../proxy/forward.ts'
import { BodyCopy } from './body-copy.ts'
import { copyOf, copyWhileRead } from './copied-bodies.ts'
import type { CopyBudget } from './copy-budget.ts'
import { readCopy, recordCopy } from './record-body.ts'

/** The bounds of copies. */
export interface CopyLimits {
  /** The most bytes of a body that is recorded. */
  readonly limit: number
  readonly budget: CopyBudget
}

/** The body of a request, as far as its record needs it. */
interface ReadRequest {
  /** null = it has none, or the level asks for none. */
  readonly object: RecordedBody | null
  /** The name of the object that a create makes; undefined = none can be read. */
  readonly name: string | undefined
}

/** Copies both bodies of a request. */
export class RequestBodies {
  readonly #limits: CopyLimits
  #request: BodyCopy | null = null
  #sent: Omit<CopiedMessage, 'body'> | null = null

  constructor(limits: CopyLimits) {
    this.#limits = limits
  }

  /** Copies the body of the request from now on, where a record of this level needs it. */
  copyRequest(http: HttpRequest, request: AuditedRequest, level: AuditDecision['level']): void {
    if (http.by !== 'request' || !hasBody(http)) return
    if (level === 'Metadata' && !isUnnamedCreate(request)) return
    const { 'content-type': contentType, 'content-encoding': contentEncoding } = http.headers
    this.#sent = { contentType, contentEncoding }
    this.#request = this.newCopy(lengthIn(http.headers))
    copyWhileRead(http.body, this.#request)
  }

  /** The body of the request, and the name in it. The copy is released. */
  async readRequest(request: AuditedRequest, level: AuditDecision['level']): Promise<ReadRequest> {
    const [sent, copy] = [this.#sent, this.#request]
    if (sent === null || copy === null) return NOTHING
    const parsed = await readCopy({ body: copy.body, ...sent })
    const name = isUnnamedCreate(request) ? createdName(parsed) : undefined
    const { limit } = this.#limits
    const object =
      level === 'Metadata' ? null : await recordCopy(parsed, { request, code: null, limit })
    copy.release()
    return { object, name }
  }

  /** The body of an answer as it is recorded; null = it has none. */
  async readAnswer(
    body: CopiedBody,
    request: AuditedRequest,
    { status: code, headers }: Answer,
  ): Promise<RecordedBody | null> {
    const parsed = await readCopy({
      body,
      contentType: headerText(headers['content-type']),
      contentEncoding: headerText(headers['content-encoding']),
    })
    return recordCopy(parsed, { request, code, limit: this.#limits.limit })
  }

  /** The name of what a create of self-service made, which may have got it from the API server; undefined = no name. */
  async answeredName(
    request: AuditedRequest,
    { status, body }: Answer,
  ): Promise<string | undefined> {
    if (!isUnnamedCreate(request) || !isOwnKind(request) || !Buffer.isBuffer(body)) return undefined
    if (status >= FIRST_FAILURE) return undefined
    const read = { body: this.copyOf(body), contentType: undefined, contentEncoding: undefined }
    return createdName(await readCopy(read))
  }

  /** A copy for an answer that streams; the caller releases it. @param contentLength null = unknown */
  newCopy(contentLength: number | null): BodyCopy {
    return new BodyCopy(this.#limits.limit, this.#limits.budget, contentLength)
  }

  /** A body that is in memory anyway, if it is within the limit. */
  copyOf(bytes: Buffer): CopiedBody {
    return copyOf(bytes, this.#limits.limit)
  }

  /** Gives the memory of the request's copy back; later calls do nothing. */
  release(): void {
    this.#request?.release()
  }
}

/** The length that headers say a body has; null = they say none. */
export const lengthIn = ({ 'content-length': length }: OutgoingHttpHeaders): number | null =>
  length === undefined ? null : Number(length)

const NOTHING: ReadRequest = { object: null, name: undefined }

const FIRST_FAILURE = 300

/** Whether self-service answers the request. */
const isOwnKind = (request: AuditedRequest): boolean =>
  !('path' in request) && request.group === GROUP && request.target?.kind === 'Management'

const isUnnamedCreate = (request: AuditedRequest): boolean =>
  !('path' in request) && request.verb === 'create' && request.name === ''

const headerText = (value: OutgoingHttpHeaders[string]): string | undefined =>
  value === undefined ? undefined : String(value)
