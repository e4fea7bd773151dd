/** The API server did not answer a call: it or the network is down. Whether it acted is unknown. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'

  /**
   * @param call the call, such as `PATCH ownedaccesskeys/ci`
   * @param cause the error of the network
   */
  constructor(call: string, cause: unknown) {
    super(`${call}: no answer`, { cause })
    // A broken connection is no bug of ours: the stack trace helps no one.
    delete this.stack
  }
}
