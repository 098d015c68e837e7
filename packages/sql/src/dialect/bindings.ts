/**
 * The values of one statement, in the order of its placeholders. Values are bound and never written into the text,
 * which contains only numbers of our own and validated names.
 */
export class Bindings {
  readonly values: unknown[] = []
  readonly #placeholder: (position: number) => string

  constructor(placeholder: (position: number) => string) {
    this.#placeholder = placeholder
  }

  /**
   * Binds a value and returns its placeholder. For dialects without numbered placeholders, call it in the order of the
   * text.
   */
  bind(value: unknown): string {
    this.values.push(value)
    return this.#placeholder(this.values.length)
  }
}
