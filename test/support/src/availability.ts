import type { ServiceName } from '@waybill/services'

/** Whether the tests of a run can use a service, found out once before the first of them. */
export type Availability =
  | {
      readonly state: 'PRESENT'
      readonly url: string
      readonly version: string
      /** FOUND, or started for this run alone. */
      readonly origin: 'FOUND' | 'STARTED_FOR_THIS_RUN'
    }
  | { readonly state: 'ABSENT'; readonly reason: string }

/** What the run knows of a service. */
export interface ServiceInRun {
  /** The one all test files share. */
  readonly shared: Availability
  /** Why a test cannot start one of its own; undefined when it can. */
  readonly obstacle?: string
  /** True when WAYBILL_REQUIRE names it. */
  readonly isRequired: boolean
}

/** What the run knows of every service. */
export type ServicesInRun = Readonly<Record<ServiceName, ServiceInRun>>

/** Which services the tests of a suite use; carried to the reporter. */
export interface ServicesInUse {
  readonly shared?: readonly ServiceName[]
  readonly own?: readonly ServiceName[]
}

declare module 'vitest' {
  interface ProvidedContext {
    services: ServicesInRun
  }
  interface TaskMeta {
    services?: ServicesInUse
  }
}
