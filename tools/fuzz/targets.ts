import { jsonTarget, jwsTarget, yamlTarget } from './documents.ts'
import { pathTarget, queryTarget, selectorTarget } from './requests.ts'
import {
  addressTarget,
  durationTarget,
  expressionTarget,
  patchTarget,
  scopeTarget,
} from './rules.ts'
import { claimsTarget } from './sign-in.ts'
import type { FuzzTarget } from './target.ts'

/** Every target of `make fuzz TARGET=`, by name. */
export const FUZZ_TARGETS: Readonly<Record<string, FuzzTarget>> = {
  path: pathTarget(),
  query: queryTarget(),
  selector: selectorTarget(),
  json: jsonTarget(),
  yaml: yamlTarget(),
  jws: jwsTarget(),
  scope: scopeTarget(),
  patch: patchTarget(),
  expression: expressionTarget(),
  address: addressTarget(),
  duration: durationTarget(),
  claims: claimsTarget(),
}
