// CPU time of a signature of a token, by the operator's own keyring with a key of its default algorithm.
import type { ConfigMap, Secret } from '../../src/api/objects.ts'
import type { TokenClaims } from '../../src/domain/token/token-claims.ts'
import { Store, fullObject } from '../../src/kube/informer/store.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createKeyring } from '../../src/signing/keyring.ts'
import { memoryLog } from '../../test/support/memory-log.ts'
import {
  jwksConfigMap,
  newPem,
  noteOf,
  signingKeySecret,
} from '../../test/unit/signing/signing-key-builder.ts'

const SIGNATURES = 1000
/** Not counted: Node compiles what runs often. After 300 a signature took two to five times what it takes later. */
const WARM_UP = 3000
const CLAIMS = {
  iss: 'https://platform.example.com/oidc',
  sub: 'user:ada',
  aud: ['https://kubernetes.default.svc'],
  jti: 'e2b5f3a0-5e8c-4a0c-9d2a-3d1f3c7c9b1e',
  exp: 1,
} as unknown as TokenClaims

/** CPU time of one signature in milliseconds, as the mean of a thousand. @throws Error when the key can't sign */
export async function signingCpuMs(): Promise<number> {
  const secrets = new Store(fullObject<Secret>)
  const records = new Store(fullObject<ConfigMap>)
  const keyring = createKeyring({
    secrets,
    records,
    namespace: 'platform-system',
    clock: systemClock(),
    log: memoryLog().log,
  })
  const pem = newPem()
  secrets.put(signingKeySecret(pem, 1))
  records.put(jwksConfigMap([pem], [noteOf(pem, 1)], 1))
  for (let n = 0; n < WARM_UP; n += 1)
    if ((await keyring.sign(CLAIMS)) === null) throw new Error('the key does not sign')
  const before = process.cpuUsage()
  for (let n = 0; n < SIGNATURES; n += 1) await keyring.sign(CLAIMS)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / SIGNATURES
}
