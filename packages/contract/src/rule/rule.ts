/** A kind of finding. */
export interface ContractRule {
  /** Stable: scripts and waivers match it. */
  readonly code: `WB-C${number}`
  /** The change in a phrase. */
  readonly title: string
  /** Whom it affects, and how. */
  readonly explanation: string
  /** A change that the rule finds, as JSON Schema. */
  readonly example: { readonly before: string; readonly after: string }
  /** A way to the same end that breaks no reader. */
  readonly remedy: string
}
