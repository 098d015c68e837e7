/**
 * A period in which no other mode can have used the table. Rows read, claimed or written in a past term may have been
 * settled since, so they are not started.
 */
export class ModeTerm {
  #isOver = false

  get isOver(): boolean {
    return this.#isOver
  }

  end(): void {
    this.#isOver = true
  }
}
