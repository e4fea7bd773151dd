// Names of the targets of the gateway, and of their projects (contract 9.1).

const NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/

/** Whether the text names a target or a project. Only such a name stands in a path unchanged. */
export const isTargetName = (text: string): boolean => NAME.test(text)

/** What a name is, for messages. */
export const TARGET_NAME_FORM =
  'at most 253 of a-z, 0-9, - and ., with a letter or digit at both ends'
