/**
 * The values of one statement, in the order its text names them. Values are bound and never written into a text (S1-053);
 * what is written there are numbers of ours and names that were checked.
 */
export class Bindings {
  readonly values: unknown[] = []
  readonly #placeholder: (position: number) => string

  constructor(placeholder: (position: number) => string) {
    this.#placeholder = placeholder
  }

  /** Binds a value and answers its placeholder. Where these have no numbers, texts call it in the order they are read. */
  bind(value: unknown): string {
    this.values.push(value)
    return this.#placeholder(this.values.length)
  }
}
