/** Who asks for a change, and why: no change is made by nobody (I21). */
export interface Operator {
  /** As the audit log and what is committed name them: a person, or a program. */
  readonly by: string
  /** @defaultValue none */
  readonly reason?: string
}
