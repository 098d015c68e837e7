/** The identity of a member at its coordinator. Read it at the moment of sending; never keep it across an await. */

/** The membership in one generation of a group. Replaced as a whole, and compared by reference. */
export interface Membership {
  readonly memberId: string
  /** -1 while the member has an id but has not joined yet. */
  readonly generationId: number
}

/** The state before joining and after leaving. */
export const noMembership: Membership = Object.freeze({ memberId: '', generationId: -1 })
