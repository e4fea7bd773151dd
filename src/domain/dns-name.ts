// DNS names as Kubernetes has them: RFC 1123, in lower case. And names of the gateway's targets, which resemble them.

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const LONGEST_LABEL = 63
const LONGEST_SUBDOMAIN = 253

/** Whether the text is a DNS label, such as the name of a namespace. */
export const isDnsLabel = (text: string): boolean =>
  text.length <= LONGEST_LABEL && LABEL.test(text)

/** Whether the text is a DNS subdomain, such as the prefix of a label's key; its parts have no limit of their own. */
export const isDnsSubdomain = (text: string): boolean =>
  text.length <= LONGEST_SUBDOMAIN && SUBDOMAIN.test(text)

const TARGET_NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/

/** Whether the text names a target of the gateway, or a project: such a name stands in a path unchanged (contract 9.1). */
export const isTargetName = (text: string): boolean => TARGET_NAME.test(text)

/** The form of such a name, for messages. */
export const TARGET_NAME_FORM =
  'at most 253 of a-z, 0-9, - and ., with a letter or digit at both ends'
