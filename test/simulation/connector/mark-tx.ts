/** A transaction that contains a mark and its effects. */
export interface MarkTx {
  /** Group and key. */
  readonly mark: string
  /** Callbacks for the commit. */
  readonly effects: (() => void)[]
  isOver: boolean
}
