/** Who this member is to its coordinator. Read at the moment of sending, never kept across an await. */

/** A place in one generation of a group. Replaced as a whole: two of them are the same place if they are one object. */
export interface Membership {
  readonly memberId: string
  /** -1 while the member has an id and no place yet. */
  readonly generationId: number
}

/** Nobody yet, or nobody any more. */
export const noMembership: Membership = Object.freeze({ memberId: '', generationId: -1 })
