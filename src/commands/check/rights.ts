// The shipped rights, one by one, as the access reviews that check them; without I/O.
import { SHIPPED_RULES, type ShippedRule } from '../../api/installation.gen.ts'

/** One right of an account, as a SubjectAccessReview asks for it. */
export interface Right {
  readonly account: string
  readonly attributes: {
    readonly group: string
    readonly resource: string
    readonly subresource?: string
    readonly verb: string
    readonly name?: string
    readonly namespace?: string
  }
}

/** Every right of manager, gateway and delivery process, in the platform's namespace or in the whole cluster. */
export const shippedRights = (namespace: string): readonly Right[] =>
  SHIPPED_RULES.flatMap((rule) => rightsOf(rule, namespace))

function rightsOf(rule: ShippedRule, namespace: string): readonly Right[] {
  const { account, isNamespaced, apiGroups, resources, resourceNames = [undefined], verbs } = rule
  const place = isNamespaced ? { namespace } : {}
  return apiGroups.flatMap((group) =>
    resources.flatMap((path) => {
      const [resource = '', subresource] = path.split('/')
      const part = subresource === undefined ? {} : { subresource }
      return resourceNames.flatMap((name) => {
        const named = name === undefined ? {} : { name }
        const target = { group, resource, ...part, ...named, ...place }
        return verbs.map((verb) => ({ account, attributes: { ...target, verb } }))
      })
    }),
  )
}

/** A right in words, such as `manager may not patch configs/status`. */
export function lackOf({ account, attributes }: Right): string {
  const { resource, subresource, verb, name, namespace } = attributes
  const what = subresource === undefined ? resource : `${resource}/${subresource}`
  const which = name === undefined ? '' : ` ${name}`
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`
  return `${account} may not ${verb} ${what}${which}${where}`
}
