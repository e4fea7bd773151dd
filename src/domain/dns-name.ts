// DNS names as Kubernetes has them: RFC 1123, in lower case.

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
