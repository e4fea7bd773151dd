// Keys and tokens of somebody else (contract 12.1): to whom RBAC opens nothing of one, its name is like a name
// that nobody has, whatever he sends.
import { SELF_SUBJECT_ACCESS_REVIEWS } from '../../api/names.ts'
import type { JsonMap } from '../../domain/json/json.ts'
import { nestedField } from '../../domain/json/nested-fields.ts'
import { quoted } from '../../domain/scope/covers-limits.ts'
import { type Answer, failure } from '../../serving/http/answer.ts'
import { type SelfServiceRequest, type Verb, ask } from './request.ts'

/** Whether RBAC opens to the caller what he asks for, or lets him read the object: then he may know of it. */
export const isOpen = async (exchange: SelfServiceRequest): Promise<boolean> =>
  (await isGranted(exchange, exchange.asked.verb)) || (await isGranted(exchange, 'get'))

/**
 * Whether RBAC grants a verb to the caller, on the object that he names if he names one. A refused write does
 * not say whether it was RBAC or a policy that refused it.
 */
export async function isGranted(exchange: SelfServiceRequest, verb: Verb): Promise<boolean> {
  const { asked, caller } = exchange
  const { group, version, plural } = asked.resource
  const resourceAttributes: JsonMap = {
    verb,
    group,
    version,
    resource: plural,
    ...(asked.isStatus ? { subresource: 'status' } : {}),
    ...(asked.name === '' ? {} : { name: asked.name }),
  }
  const { group: apiGroup, version: apiVersion, kind } = SELF_SUBJECT_ACCESS_REVIEWS
  const json = { apiVersion: `${apiGroup}/${apiVersion}`, kind, spec: { resourceAttributes } }
  const reply = await ask(exchange, {
    as: { caller },
    method: 'POST',
    resource: SELF_SUBJECT_ACCESS_REVIEWS,
    query: [],
    body: { type: 'application/json', json },
  })
  return nestedField(reply.json, ['status', 'allowed']) === true
}

/** Also of what is there, and with nothing of the API server's, whose answers are numbered. */
export const notFound = ({
  asked: { resource, name },
}: Pick<SelfServiceRequest, 'asked'>): Answer =>
  failure('NotFound', `${resource.plural}.${resource.group} ${quoted(name)} not found`)

/** The answer to an apply, which would make what is not there: that a name is taken it tells as a create does. */
export const taken = ({ asked: { resource, name } }: Pick<SelfServiceRequest, 'asked'>): Answer =>
  failure('AlreadyExists', `${resource.plural}.${resource.group} ${quoted(name)} already exists`)
