// The files by which an API server asks the webhook (contract 9.6).
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { WEBHOOK_PATH } from '../../../src/gateway/webhook/handler.ts'

const FOLDER = join(import.meta.dirname, '../../../config/direct')
const read = (path: string): unknown => parse(readFileSync(join(FOLDER, path), 'utf8'))

const KUBECONFIG = '/etc/kubernetes/authorization/kubeconfig.yaml'

test('authorization.yaml asks the webhook before RBAC, for every user of the platform, and caches nothing (9.6)', () => {
  expect(read('webhook/authorization.yaml')).toEqual({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthorizationConfiguration',
    authorizers: [
      {
        type: 'Webhook',
        name: 'platform-scope',
        webhook: {
          timeout: '3s',
          subjectAccessReviewVersion: 'v1',
          matchConditionSubjectAccessReviewVersion: 'v1',
          failurePolicy: 'Deny',
          cacheAuthorizedRequests: false,
          cacheUnauthorizedRequests: false,
          connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: KUBECONFIG },
          matchConditions: [{ expression: "request.user.startsWith('platform:')" }],
        },
      },
      { type: 'Node', name: 'node' },
      { type: 'RBAC', name: 'rbac' },
    ],
  })
})

test('kubeconfig.yaml leads to the path of the webhook, and holds no secret itself (9.6)', () => {
  const text = readFileSync(join(FOLDER, 'webhook/kubeconfig.yaml'), 'utf8')
  expect(parse(text)).toMatchObject({
    clusters: [{ cluster: { server: `https://direct.example.com:8443${WEBHOOK_PATH}` } }],
    users: [{ user: { tokenFile: expect.stringMatching(/^\/etc\/kubernetes\//) as string } }],
    'current-context': 'webhook',
    contexts: [{ name: 'webhook' }],
  })
  expect(text).not.toMatch(/insecure-skip-tls-verify|(?:token|data|password):/)
})
