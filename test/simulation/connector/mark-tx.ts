/** A transaction in which a mark and its effects are, or are not. */
export interface MarkTx {
  /** Group and key. */
  readonly mark: string
  /** What happens when it is committed. */
  readonly effects: (() => void)[]
  isOver: boolean
}
