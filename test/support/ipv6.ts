import { networkInterfaces } from 'node:os';

/** Whether this system has the address ::1. Containers often have no IPv6. */
export const HAS_IPV6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === '::1'),
);

export const NO_IPV6 = 'no IPv6: this system has no address ::1';
