/** The API server did not answer a call: it, or the network between, is away. What it did is unknown. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer'

  /**
   * @param call what was asked, such as `PATCH ownedaccesskeys/ci`
   * @param cause what the network said
   */
  constructor(call: string, cause: unknown) {
    super(`${call}: no answer`, { cause })
    // A broken connection is no bug of ours: where it was seen tells nobody anything.
    delete this.stack
  }
}
