/** A write by a process that does not lead. It was not sent. */
export class NotLeader extends Error {
  override readonly name = 'NotLeader'
  readonly code = 'NotLeader'

  constructor() {
    super('this process does not lead (any more): the write was not sent')
  }
}
