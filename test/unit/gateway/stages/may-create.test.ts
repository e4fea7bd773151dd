import { describe, expect, test } from 'vitest'
import { mayCreate } from '../../../../src/gateway/stages/authorization.ts'
import { parsedRequest } from '../request/request-reader.ts'

const POD = '/api/v1/namespaces/a/pods/x'
const APPLY = 'application/apply-patch+yaml'
const MERGE = 'application/merge-patch+json'

// biome-ignore format: a table
describe('a request that may create the object it names (11.6, B5)', () => {
  test.each([
    { sent: `PUT ${POD}`,                        type: 'application/json',                       is: true },
    { sent: `PUT ${POD}`,                        type: undefined,                                is: true },
    { sent: `PUT ${POD}/`,                       type: MERGE,                                    is: true },
    { sent: 'PUT /api/v1/namespaces/a',          type: undefined,                                is: true },
    { sent: 'PUT /apis/management.platform.sh/v1/config/a', type: undefined,                     is: true },
    { sent: `PATCH ${POD}`,                      type: APPLY,                                    is: true },
    { sent: `PATCH ${POD}`,                      type: 'application/apply-patch+cbor',           is: true },
    { sent: `PATCH ${POD}`,                      type: `${APPLY}; charset=utf-8`,                is: true },
    { sent: `PATCH ${POD}`,                      type: 'Application/Apply-Patch+YAML',           is: true },
    { sent: `PATCH ${POD}`,                      type: ` ${APPLY} `,                             is: true },
    { sent: `PATCH ${POD}`,                      type: `${APPLY}, ${MERGE}`,                     is: true },
    { sent: `PATCH ${POD}`,                      type: `${MERGE}, ${APPLY}`,                     is: true },
    { sent: `PATCH ${POD}`,                      type: 'application/new-patch+json',             is: true },
    { sent: `PATCH ${POD}`,                      type: '',                                       is: true },
    { sent: `PATCH ${POD}`,                      type: undefined,                                is: true },
    { sent: `PATCH ${POD}`,                      type: MERGE,                                    is: false },
    { sent: `PATCH ${POD}`,                      type: `${MERGE}; charset=utf-8`,                is: false },
    { sent: `PATCH ${POD}`,                      type: 'application/json-patch+json',            is: false },
    { sent: `PATCH ${POD}`,                      type: 'application/strategic-merge-patch+json', is: false },
    { sent: `PUT ${POD}/status`,                 type: undefined,                                is: false },
    { sent: `PATCH ${POD}/status`,               type: APPLY,                                    is: false },
    { sent: 'PUT /api/v1/namespaces/a/finalize', type: undefined,                                is: false },
    { sent: 'PUT /api/v1/namespaces/a/pods',     type: undefined,                                is: false },
    { sent: 'PATCH /api/v1/namespaces/a/pods',   type: APPLY,                                    is: false },
    { sent: 'PUT /healthz',                      type: undefined,                                is: false },
    { sent: 'PATCH /api/v1',                     type: APPLY,                                    is: false },
    { sent: `POST ${POD}`,                       type: APPLY,                                    is: false },
    { sent: `GET ${POD}`,                        type: APPLY,                                    is: false },
    { sent: `DELETE ${POD}`,                     type: APPLY,                                    is: false },
  ])('$sent of type $type: $is', ({ sent, type, is }) => {
    expect(mayCreate(parsedRequest(sent), type)).toBe(is)
  })
})
